/** The sheet: cells, their formulas and their values, kept up to date. */

import { Address } from "./address.ts";
import { Evaluator, type Source } from "./evaluate.ts";
import { Cycle, Graph } from "./graph.ts";
import { References, type Node } from "./nodes.ts";
import { Parser } from "./parser.ts";
import { EMPTY, failure, numberOf, textOf, type Value } from "./values.ts";

interface Cell {
  readonly input: string;
  readonly tree?: Node;
  value: Value;
}

export type Watcher = (address: Address, value: Value) => void;

export class Sheet implements Source {
  private readonly cells = new Map<string, Cell>();
  private readonly graph = new Graph<Address>();
  private readonly watchers: Watcher[] = [];
  private readonly evaluator = new Evaluator(this);

  watch(watcher: Watcher): void {
    this.watchers.push(watcher);
  }

  valueAt(address: Address): Value {
    return this.cells.get(address.key)?.value ?? EMPTY;
  }

  /** Sets what was typed into a cell: a formula after `=`, a number, or text. */
  set(key: string, input: string): Value {
    const address = Address.parse(key);
    if (address === undefined) {
      return failure(`no cell ${key}`);
    }
    this.cells.set(key, this.read(input));
    this.connect(address);
    this.refresh(address);
    return this.valueAt(address);
  }

  private read(input: string): Cell {
    if (input.startsWith("=")) {
      try {
        return { input, tree: Parser.parse(input.slice(1)), value: EMPTY };
      } catch (problem) {
        return { input, value: failure(problem instanceof Error ? problem.message : "unreadable") };
      }
    }
    const amount = Number(input);
    return { input, value: input.trim() === "" || Number.isNaN(amount) ? textOf(input) : numberOf(amount) };
  }

  private connect(address: Address): void {
    const tree = this.cells.get(address.key)?.tree;
    this.graph.connect(address, tree?.accept(new References()) ?? []);
  }

  private refresh(address: Address): void {
    try {
      const order = [address, ...this.graph.dependents(address)];
      order.forEach((next) => this.compute(next));
    } catch (problem) {
      if (!(problem instanceof Cycle)) {
        throw problem;
      }
      this.store(address, failure(`cycle ${problem.message}`));
    }
  }

  private compute(address: Address): void {
    const cell = this.cells.get(address.key);
    if (cell !== undefined) {
      this.store(address, cell.tree === undefined ? cell.value : this.evaluator.evaluate(cell.tree));
    }
  }

  private store(address: Address, value: Value): void {
    const cell = this.cells.get(address.key);
    if (cell !== undefined) {
      cell.value = value;
      this.watchers.forEach((watcher) => watcher(address, value));
    }
  }
}
