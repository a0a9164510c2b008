import { formatPrice, Shelf, type Product } from "./stock.js";

const plants: Product[] = [
  { name: "fern", priceInCents: 950 },
  { name: "olive tree", priceInCents: 4990 },
];

export function describe(shelf: Shelf): string[] {
  return plants
    .filter((plant) => shelf.quantity(plant) > 0)
    .map((plant) => `${plant.name} for ${formatPrice(plant.priceInCents)}`);
}
