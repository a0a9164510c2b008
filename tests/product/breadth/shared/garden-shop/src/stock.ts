export interface Product {
  name: string;
  priceInCents: number;
}

export interface Stock {
  quantity(product: Product): number;
}

export class Shelf implements Stock {
  private readonly counts = new Map<string, number>();

  add(product: Product, count: number): void {
    this.counts.set(product.name, this.quantity(product) + count);
  }

  quantity(product: Product): number {
    return this.counts.get(product.name) ?? 0;
  }
}

export function formatPrice(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`;
}
