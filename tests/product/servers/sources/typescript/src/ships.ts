/** What lies in a harbour. */
export interface Ship {
  readonly name: string;
  weight(): number;
  fee(nights: number): number;
}

/** Says something of itself. */
export interface Labelled {
  label(): string;
}

export abstract class Hull implements Ship {
  constructor(
    readonly name: string,
    protected readonly length: number,
  ) {}

  abstract weight(): number;

  fee(nights: number): number {
    return this.weight() * nights + this.length;
  }
}

export class Tanker extends Hull implements Labelled {
  constructor(
    name: string,
    length: number,
    private readonly oil: number,
  ) {
    super(name, length);
  }

  weight(): number {
    return this.length * 10 + this.oil;
  }

  label(): string {
    return describe(this);
  }
}

export class Ferry extends Hull {
  weight(): number {
    return this.length * 3;
  }

  override fee(nights: number): number {
    return super.fee(nights) / 2;
  }
}

export class Raft implements Ship, Labelled {
  readonly name = "raft";

  weight(): number {
    return heavy(1);
  }

  fee(): number {
    return 0;
  }

  label(): string {
    return describe(this);
  }
}

export function heavy(length: number): number {
  return length * 20;
}

export function describe(ship: Ship): string {
  return `${ship.name}: ${ship.weight()} t`;
}
