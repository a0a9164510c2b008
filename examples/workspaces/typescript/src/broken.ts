/** Errors on purpose, for a type checker to find. Nothing imports this file. */

import { Address } from "./address.ts";
import { Constant, type Node, type Visitor } from "./nodes.ts";
import { Sheet } from "./sheet.ts";
import { Kind, type Value } from "./values.ts";
import { missing } from "./nowhere.ts";

/** Lacks all methods but one. */
export class HalfVisitor implements Visitor<string> {
  visitConstant(node: Constant): string {
    return node.literal;
  }
}

export function wrongArgument(sheet: Sheet): Value {
  return sheet.set("A1", 42);
}

export function wrongProperty(address: Address): number {
  const café = "☕"; return address.colunm + café.length;
}

export function wrongKind(): Value {
  return { kind: Kind.Number, text: "7" };
}

export const tree: Node = missing;
