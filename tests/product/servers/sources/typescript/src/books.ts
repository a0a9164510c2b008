import { Berth, Quay } from "./berths.ts";
import { describe, Ferry, heavy, Raft, Tanker, type Labelled, type Ship } from "./ships.ts";

export function due(ship: Ship, nights: number): number {
  return ship.fee(nights);
}

export function collect(quay: Quay, nights: number): number {
  let total = 0;
  for (const berth of quay.berths) {
    if (berth.ship !== undefined) {
      total += due(berth.ship, nights);
    }
  }
  return total;
}

export function fleet(): Ship[] {
  return [new Tanker("Oslo", 120, 900), new Ferry("Elba", heavy(3)), new Raft()];
}

export function shout(one: Labelled): string {
  return one.label().toUpperCase();
}

export function run(): string {
  const quay = new Quay([new Berth(1), new Berth(2)]);
  for (const ship of fleet()) {
    quay.moor(ship);
  }
  return [collect(quay, 2), ...quay.board(), shout(new Raft()), ...fleet().map(describe)].join();
}
