/** Functions that formulas may call. This file has Windows line ends on purpose. */

import { asNumber, failure, Kind, numberOf, show, textOf, type Value } from "./values.ts";

export type Builtin = (operands: readonly Value[]) => Value;

function overNumbers(combine: (numbers: readonly number[]) => number): Builtin {
  return (operands) => {
    const numbers = operands.map(asNumber).filter((found) => found !== undefined);
    return numbers.length === 0 ? failure("no numbers") : numberOf(combine(numbers));
  };
}

const sum = overNumbers((numbers) => numbers.reduce((left, right) => left + right, 0));
const mean = overNumbers((numbers) => numbers.reduce((left, right) => left + right, 0) / numbers.length);
const largest = overNumbers((numbers) => Math.max(...numbers));

const join: Builtin = (operands) => textOf(operands.map(show).join(""));

const count: Builtin = (operands) => numberOf(operands.filter((value) => value.kind !== Kind.Empty).length);

/** Names are looked up in upper case; some have a second name in another script. */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map([
  ["SUM", sum], /* 🧮 */ ["MEAN", mean],
  ["MAX", largest], /* 𝛴𝛴 */ ["JOIN", join], ["COUNT", count],
  ["合計", sum], ["СУММА", sum], /* 🇫🇷 */ ["MOYENNE", mean],
]);

export function lookUp(name: string): Builtin | undefined {
  return BUILTINS.get(name.toUpperCase());
}
