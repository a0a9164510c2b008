/** From tokens to a tree, by recursive descent. */

import { Address } from "./address.ts";
import { Binary, Call, Constant, Range, Reference, type Node, type Operator } from "./nodes.ts";
import { TokenType, tokenize, type Token } from "./tokens.ts";

const LEVELS: readonly (readonly Operator[])[] = [["&"], ["+", "-"], ["*", "/"], ["^"]];

export class SyntaxProblem extends Error {
  constructor(readonly token: Token, expected: string) {
    super(`${expected} expected at ${token.start}`);
  }
}

export class Parser {
  private position = 0;

  private constructor(private readonly tokens: readonly Token[]) {}

  static parse(source: string): Node {
    const parser = new Parser(tokenize(source));
    const tree = parser.level(0);
    if (parser.current.type !== TokenType.End) {
      throw new SyntaxProblem(parser.current, "end");
    }
    return tree;
  }

  private get current(): Token {
    return this.tokens[this.position];
  }

  private advance(): Token {
    return this.tokens[this.position++];
  }

  private accept(sign: string): boolean {
    const found = this.current.type === TokenType.Sign && this.current.text === sign;
    if (found) {
      this.advance();
    }
    return found;
  }

  private expect(sign: string): void {
    if (!this.accept(sign)) {
      throw new SyntaxProblem(this.current, sign);
    }
  }

  private level(depth: number): Node {
    if (depth === LEVELS.length) {
      return this.primary();
    }
    let left = this.level(depth + 1);
    for (;;) {
      const operator = LEVELS[depth].find((sign) => this.accept(sign));
      if (operator === undefined) {
        return left;
      }
      left = new Binary(operator, left, this.level(depth + 1));
    }
  }

  private primary(): Node {
    if (this.accept("(")) {
      const inner = this.level(0);
      this.expect(")");
      return inner;
    }
    const token = this.advance();
    switch (token.type) {
      case TokenType.Number:
        return new Constant(Number(token.text));
      case TokenType.Text:
        return new Constant(token.text.slice(1, -1));
      case TokenType.Name:
        return this.named(token);
      default:
        throw new SyntaxProblem(token, "value");
    }
  }

  private named(token: Token): Node {
    if (this.accept("(")) {
      return new Call(token.text, this.operands());
    }
    const address = this.address(token);
    return this.accept(":") ? new Range(address, this.address(this.advance())) : new Reference(address);
  }

  private operands(): Node[] {
    const operands: Node[] = [];
    if (this.accept(")")) {
      return operands;
    }
    do {
      operands.push(this.level(0));
    } while (this.accept(","));
    this.expect(")");
    return operands;
  }

  private address(token: Token): Address {
    const address = Address.parse(token.text);
    if (address === undefined) {
      throw new SyntaxProblem(token, "address");
    }
    return address;
  }
}
