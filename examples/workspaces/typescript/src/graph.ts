/** A directed graph over anything with a key, and the order in which to visit it. */

export interface Keyed {
  readonly key: string;
}

export class Cycle<T extends Keyed> extends Error {
  constructor(readonly path: readonly T[]) {
    super(path.map((node) => node.key).join(" → "));
  }
}

export class Graph<T extends Keyed> {
  private readonly nodes = new Map<string, T>();
  private readonly edges = new Map<string, Set<string>>();

  /** `from` depends on each of `targets`, and on nothing else. */
  connect(from: T, targets: Iterable<T>): void {
    const keys = new Set<string>();
    this.nodes.set(from.key, from);
    for (const target of targets) {
      this.nodes.set(target.key, target);
      keys.add(target.key);
    }
    this.edges.set(from.key, keys);
  }

  targetsOf(node: T): T[] {
    return this.resolve(this.edges.get(node.key) ?? []);
  }

  /** Everything that depends on `node`, directly or not, in an order that visits targets first. */
  dependents(node: T): T[] {
    const order: T[] = [];
    const open: T[] = [];
    const done = new Set<string>();
    const visit = (current: T): void => {
      if (open.some((other) => other.key === current.key)) {
        throw new Cycle([...open, current]);
      }
      if (done.has(current.key)) {
        return;
      }
      open.push(current);
      for (const source of this.sourcesOf(current)) {
        visit(source);
      }
      open.pop();
      done.add(current.key);
      order.unshift(current);
    };
    visit(node);
    return order.slice(1);
  }

  private sourcesOf(node: T): T[] {
    const keys = [...this.edges].filter(([, targets]) => targets.has(node.key)).map(([key]) => key);
    return this.resolve(keys.sort());
  }

  private resolve(keys: Iterable<string>): T[] {
    return [...keys].map((key) => this.nodes.get(key)).filter((node) => node !== undefined);
  }
}
