/** Values that a cell can have. */

export enum Kind {
  Empty = "empty",
  Number = "number",
  Text = "text",
  Failure = "failure",
}

export interface Empty {
  readonly kind: Kind.Empty;
}

export interface NumberValue {
  readonly kind: Kind.Number;
  readonly amount: number;
}

export interface TextValue {
  readonly kind: Kind.Text;
  readonly text: string;
}

export interface Failure {
  readonly kind: Kind.Failure;
  readonly reason: string;
}

export type Value = Empty | NumberValue | TextValue | Failure;

export const EMPTY: Empty = { kind: Kind.Empty };

export function numberOf(amount: number): Value {
  return Number.isFinite(amount) ? { kind: Kind.Number, amount } : failure("not a number");
}

export function textOf(text: string): TextValue {
  return { kind: Kind.Text, text };
}

export function failure(reason: string): Failure {
  return { kind: Kind.Failure, reason };
}

/** The number that a value counts as; text counts as nothing. */
export function asNumber(value: Value): number | undefined {
  switch (value.kind) {
    case Kind.Empty:
      return 0;
    case Kind.Number:
      return value.amount;
    case Kind.Text:
    case Kind.Failure:
      return undefined;
  }
}

/** The value as it is shown. */
export function show(value: Value): string {
  switch (value.kind) {
    case Kind.Empty:
      return "";
    case Kind.Number:
      return String(value.amount);
    case Kind.Text:
      return value.text;
    case Kind.Failure:
      return `#${value.reason}`;
  }
}
