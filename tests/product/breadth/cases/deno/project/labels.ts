import { type Plant, priceTag } from "./plants.ts";

export function label(plant: Plant): string {
  const tag = priceTag(plant.cents);
  return `${plant.name}: ${tag}`;
}
