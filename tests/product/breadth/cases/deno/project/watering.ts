import type { Plant } from "./plants.ts";

export function litres(plant: Plant): number {
  const amount: number = plant.name;
  return amount * 2;
}
