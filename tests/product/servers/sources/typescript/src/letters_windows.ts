/** Columns: astral and combining characters and tabs before the names. This file gets Windows line ends. */
import { due } from "./books.ts";
import { describe, Ferry, Raft, type Ship } from "./ships.ts";

const 𠮷 = new Raft(); /* 𝒳 */ const 名前 = describe(𠮷); const café = "é".length + due(𠮷, 2);

export const flags = { "🇫🇷": describe(𠮷), "𝒳𝒳": due(𠮷, 1), "eé": café };

export function größe(ship: Ship, zeichen = "🚢𝒳", nights = 1): number {
	return due(ship,	nights) + "👩‍👩‍👧".length + ship.weight() + zeichen.length;
}

export function straße(𠮷: Ship): string {
  return "🚢" + describe(𠮷) + "𝒳 é" + 𠮷.name + String(größe(𠮷, "𝒳", 3));
}

export class Fähre extends Ferry {
  /* 🚢 */ override weight(): number { /* 𝒳 */ return super.weight() + größe(this, "🧮"); }
}

export const alle = ["𝒳", straße(new Fähre("eé", 1)), straße(𠮷), 名前]; /* 🚢 */ export const summe = größe(𠮷);
