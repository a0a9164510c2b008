import { formatPrice, type Product } from "./stock.js";

export interface Line {
  product: Product;
  count: number;
}

export function total(lines: Line[]): number {
  return lines.reduce((sum, line) => sum + line.product.priceInCents * line.count, 0);
}

export function invoice(lines: Line[]): string {
  const rows = lines.map((line) => `${line.product.name}: ${line.count}`);
  rows.push(`total ${formatPrice(total(lines))}`);
  return rows.join("\n");
}
