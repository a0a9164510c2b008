import type { Bed, Plant } from "./plants.ts";

export class Greenhouse implements Bed {
  #kept: Plant[] = [];

  put(plant: Plant): void {
    this.#kept.push(plant);
  }

  plants(): Plant[] {
    return [...this.#kept];
  }
}
