import { Greenhouse } from "./greenhouse.ts";
import { label } from "./labels.ts";
import { priceTag } from "./plants.ts";

function main(): void {
  const house = new Greenhouse();
  house.put({ name: "fern", cents: 450 });
  house.put({ name: "ivy", cents: 320 });
  let sum = 0;
  for (const plant of house.plants()) {
    console.log(label(plant));
    sum += plant.cents;
  }
  console.log("all: " + priceTag(sum));
}

main();
