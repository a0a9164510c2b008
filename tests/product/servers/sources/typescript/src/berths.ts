import { describe, type Ship } from "./ships.ts";

/** A place for one ship. */
export class Berth {
  private taken: Ship | undefined;
  readonly history: Ship[] = [];

  constructor(readonly number: number) {}

  get ship(): Ship | undefined {
    return this.taken;
  }

  take(ship: Ship): boolean {
    if (this.taken !== undefined) {
      return false;
    }
    this.taken = ship;
    this.history.push(ship);
    return true;
  }

  leave(): Ship | undefined {
    const ship = this.taken;
    this.taken = undefined;
    return ship;
  }
}

export class Quay {
  constructor(readonly berths: readonly Berth[]) {}

  free(): Berth | undefined {
    return this.berths.find((berth) => berth.ship === undefined);
  }

  moor(ship: Ship): Berth | undefined {
    const berth = this.free();
    berth?.take(ship);
    return berth;
  }

  board(): string[] {
    return this.berths.flatMap((berth) => (berth.ship === undefined ? [] : [describe(berth.ship)]));
  }
}
