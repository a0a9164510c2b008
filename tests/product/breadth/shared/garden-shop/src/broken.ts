import { Shelf } from "./stock.js";

export function restock(shelf: Shelf): void {
  const label: number = "rose";
  shelf.add({ name: "rose", priceInCents: label }, 12);
}
