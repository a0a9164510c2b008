/** A sample sheet: a shopping list. */

import { Sheet, type Watcher } from "./sheet.ts";
import { show, type Value } from "./values.ts";

declare const console: { log(text: string): void };

const seen: string[] = [];

const remember: Watcher = (address, value) => {
  const größe = "📏"; seen.push(`${größe} ${address.key} = ${show(value)}`);
};

export function shopping(): Sheet {
  const sheet = new Sheet();
  sheet.watch(remember);
  sheet.set("A1", "🍎 apples"); sheet.set("B1", "3");
  sheet.set("A2", "𝓑read"); sheet.set("B2", "1.5");
  sheet.set("B3", "=SUM(B1:B2) * 2");
  sheet.set("A3", '="Σ " & MAX(B1, B2)');
  return sheet;
}

export function demo(): Value[] {
  const sheet = shopping();
  const before = sheet.set("B4", "=合計(B1:B3) / COUNT(B1:B3)");
  const cycle = sheet.set("B1", "=B3");
  return [before, cycle];
}

for (const value of demo()) {
  console.log(show(value));
}
console.log(seen.join("\n"));
