/** The tree of a formula, and visitors over it. */

import { Address, between } from "./address.ts";

export interface Visitor<R> {
  visitConstant(node: Constant): R;
  visitReference(node: Reference): R;
  visitRange(node: Range): R;
  visitBinary(node: Binary): R;
  visitCall(node: Call): R;
}

export interface Node {
  accept<R>(visitor: Visitor<R>): R;
}

export class Constant implements Node {
  constructor(readonly literal: number | string) {}

  accept<R>(visitor: Visitor<R>): R {
    return visitor.visitConstant(this);
  }
}

export class Reference implements Node {
  constructor(readonly address: Address) {}

  accept<R>(visitor: Visitor<R>): R {
    return visitor.visitReference(this);
  }
}

export class Range implements Node {
  constructor(
    readonly from: Address,
    readonly to: Address,
  ) {}

  accept<R>(visitor: Visitor<R>): R {
    return visitor.visitRange(this);
  }

  addresses(): Address[] {
    return [...between(this.from, this.to)];
  }
}

export type Operator = "+" | "-" | "*" | "/" | "^" | "&";

export class Binary implements Node {
  constructor(
    readonly operator: Operator,
    readonly left: Node,
    readonly right: Node,
  ) {}

  accept<R>(visitor: Visitor<R>): R {
    return visitor.visitBinary(this);
  }
}

export class Call implements Node {
  constructor(
    readonly name: string,
    readonly operands: readonly Node[],
  ) {}

  accept<R>(visitor: Visitor<R>): R {
    return visitor.visitCall(this);
  }
}

/** Collects the addresses that a formula reads. */
export class References implements Visitor<Address[]> {
  visitConstant(): Address[] {
    return [];
  }

  visitReference(node: Reference): Address[] {
    return [node.address];
  }

  visitRange(node: Range): Address[] {
    return node.addresses();
  }

  visitBinary(node: Binary): Address[] {
    return [...node.left.accept(this), ...node.right.accept(this)];
  }

  visitCall(node: Call): Address[] {
    return node.operands.flatMap((operand) => operand.accept(this));
  }
}
