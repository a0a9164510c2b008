export interface Plant {
  name: string;
  cents: number;
}

export function formatPrice(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`;
}

export class Bulb implements Plant {
  constructor(readonly name: string, readonly cents: number) {}
}
