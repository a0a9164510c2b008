/** Something that the nursery sells. */
export interface Plant {
  name: string;
  cents: number;
}

/** Where plants are kept. */
export interface Bed {
  put(plant: Plant): void;
  plants(): Plant[];
}

/** A price for people, such as "4.50 EUR". */
export function priceTag(cents: number): string {
  const rest = String(cents % 100).padStart(2, "0");
  return `${Math.floor(cents / 100)}.${rest} EUR`;
}
