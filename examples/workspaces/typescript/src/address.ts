/** Addresses of cells: `B7` is column 1, row 6. */

export class Address {
  constructor(
    readonly column: number,
    readonly row: number,
  ) {}

  static parse(text: string): Address | undefined {
    const match = /^([A-Z]+)([1-9][0-9]*)$/.exec(text);
    if (match === null) {
      return undefined;
    }
    let column = 0;
    for (const letter of match[1]) {
      column = column * 26 + letter.charCodeAt(0) - 64;
    }
    return new Address(column - 1, Number(match[2]) - 1);
  }

  get key(): string {
    return `${columnName(this.column)}${this.row + 1}`;
  }

  moved(columns: number, rows: number): Address {
    return new Address(this.column + columns, this.row + rows);
  }

  equals(other: Address): boolean {
    return this.column === other.column && this.row === other.row;
  }
}

export function columnName(column: number): string {
  let name = "";
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  }
  return name;
}

/** All addresses of the rectangle between two corners, row by row. */
export function* between(from: Address, to: Address): Generator<Address> {
  for (let row = Math.min(from.row, to.row); row <= Math.max(from.row, to.row); row++) {
    for (let column = Math.min(from.column, to.column); column <= Math.max(from.column, to.column); column++) {
      yield new Address(column, row);
    }
  }
}
