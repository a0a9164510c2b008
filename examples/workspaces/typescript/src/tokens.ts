/** Cuts a formula into tokens. This file is indented with tabs on purpose. */

export enum TokenType {
	Number,
	Text,
	Name,
	Sign,
	End,
}

export interface Token {
	readonly type: TokenType;
	readonly text: string;
	readonly start: number;
}

const PATTERNS: ReadonlyArray<readonly [TokenType, RegExp]> = [
	[TokenType.Number, /[0-9]+(\.[0-9]+)?/y],
	[TokenType.Text, /"[^"]*"/y],
	[TokenType.Name, /\p{L}[\p{L}0-9]*/uy],
	[TokenType.Sign, /[-+*\/^(),:&]/y],
];

export class BadCharacter extends Error {
	constructor(
		readonly character: string,
		readonly at: number,
	) {
		super(`unexpected ${character} at ${at}`);
	}
}

export function tokenize(source: string): Token[] {
	const tokens: Token[] = [];
	let start = 0;
	while (start < source.length) {
		if (source[start] === " ") {
			start += 1;
			continue;
		}
		const token = tokenAt(source, start);
		tokens.push(token);
		start += token.text.length;
	}
	tokens.push({ type: TokenType.End, text: "", start });
	return tokens;
}

function tokenAt(source: string, start: number): Token {
	for (const [type, pattern] of PATTERNS) {
		pattern.lastIndex = start;
		const match = pattern.exec(source);
		if (match !== null) {
			return { type, text: match[0], start };
		}
	}
	throw new BadCharacter(source[start], start);
}
