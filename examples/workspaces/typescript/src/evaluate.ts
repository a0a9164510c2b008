/** Computes the value of a tree. */

import type { Address } from "./address.ts";
import { lookUp } from "./builtins.ts";
import { Range, type Binary, type Call, type Constant, type Node, type Reference, type Visitor } from "./nodes.ts";
import { asNumber, failure, Kind, numberOf, show, textOf, type Value } from "./values.ts";

/** Where an evaluator reads other cells. */
export interface Source {
  valueAt(address: Address): Value;
}

export class Evaluator implements Visitor<Value> {
  constructor(private readonly source: Source) {}

  evaluate(tree: Node): Value {
    return tree.accept(this);
  }

  visitConstant(node: Constant): Value {
    return typeof node.literal === "number" ? numberOf(node.literal) : textOf(node.literal);
  }

  visitReference(node: Reference): Value {
    return this.source.valueAt(node.address);
  }

  visitRange(): Value {
    return failure("a range is no value");
  }

  visitBinary(node: Binary): Value {
    const left = this.evaluate(node.left);
    const right = this.evaluate(node.right);
    for (const value of [left, right]) {
      if (value.kind === Kind.Failure) {
        return value;
      }
    }
    if (node.operator === "&") {
      return textOf(show(left) + show(right));
    }
    const [a, b] = [asNumber(left), asNumber(right)];
    return a === undefined || b === undefined ? failure("text is no number") : numberOf(arithmetic(node, a, b));
  }

  visitCall(node: Call): Value {
    const builtin = lookUp(node.name);
    return builtin === undefined ? failure(`no ${node.name}`) : builtin(node.operands.flatMap((n) => this.spread(n)));
  }

  private spread(node: Node): Value[] {
    if (node instanceof Range) {
      return node.addresses().map((address) => this.source.valueAt(address));
    }
    return [this.evaluate(node)];
  }
}

function arithmetic(node: Binary, a: number, b: number): number {
  switch (node.operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return a / b;
    case "^":
      return a ** b;
    case "&":
      return NaN;
  }
}
