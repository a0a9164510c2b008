import { formatPrice, type Plant } from "./prices";

export function invoice(plants: Plant[]): string {
  const sum = plants.reduce((total, plant) => total + plant.cents, 0);
  return `To pay: ${formatPrice(sum)}`;
}
