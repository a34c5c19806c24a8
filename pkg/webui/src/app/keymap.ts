// The one table of keys. Tooltips, the palette and the sheet of keys are made from it.
import { signal } from "@preact/signals";

export interface Command {
  id: string;
  keys: string[]; // in the form of keyOf, or two keys in a row: "g s"
  label: string;
  group: string;
  run: () => void;
}

/** All commands that can be run now; pages add theirs while they are shown. */
export const commands = signal<Command[]>([]);

/** Single letters can be switched off, for those who speak to their computer. */
export const lettersOff = signal(localStorage.getItem("spangrove.letters") === "off");

/**
 * Adds commands, and returns what takes them away again. Commands added later win over earlier ones with the same key. Pages add theirs in a
 * layout effect, so that a key acts on what is on screen, however soon it follows the one before.
 */
export function addCommands(list: Command[]): () => void {
  commands.value = [...commands.value, ...list];
  return () => {
    commands.value = commands.value.filter((c) => !list.includes(c));
  };
}

/** Returns the keys of a command as a person reads them. */
export function keysOf(id: string): string {
  const command = commands.value.findLast((c) => c.id === id);
  return command?.keys[0] ? show(command.keys[0]) : "";
}

/** Writes keys with the words of the platform. */
export function show(keys: string): string {
  const mac = navigator.platform.startsWith("Mac");
  return keys
    .replace("mod+", mac ? "⌘" : "Ctrl ")
    .replace("shift+", "Shift ")
    .replace("arrowleft", "←").replace("arrowright", "→").replace("arrowup", "↑").replace("arrowdown", "↓")
    .replace("escape", "Esc").replace("enter", "Enter");
}

function keyOf(event: KeyboardEvent): string {
  let key = event.key.toLowerCase();
  if (event.shiftKey && (event.key.length > 1 || /^\p{L}$/u.test(event.key))) key = `shift+${key}`;
  if (event.ctrlKey || event.metaKey) key = `mod+${key}`;
  if (event.altKey) key = `alt+${key}`;
  return key;
}

let first = "";
let firstAt = 0;

function typing(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement && target.type === "checkbox") return false;
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

/** Reports whether Enter is for what has the focus: it presses it. */
const pressed = (target: EventTarget | null) => target instanceof Element && target.closest("button, a[href], summary") !== null;

/** Reports whether a key is for an input method: one that takes a word of Japanese, say, is none of the page's. */
const isComposing = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229; // as Safari says of the last one

/** Begins to listen for keys. */
export function listen(): void {
  addEventListener("keydown", (event) => { if (isComposing(event)) event.stopPropagation(); }, true);
  addEventListener("keydown", (event) => {
    const key = keyOf(event);
    if (event.defaultPrevented) return;
    if (typing(event.target) && !key.startsWith("mod+k")) return;
    if (key === "enter" && pressed(event.target)) return;
    if (key === "escape" && document.querySelector("[popover=auto]:popover-open")) return; // the browser closes the menu
    if (document.querySelector("dialog[open]") && key !== "mod+k") return;
    const plain = key.replace("shift+", "").length === 1;
    if (plain && lettersOff.value) return;
    const two = performance.now() - firstAt < 1200 ? `${first} ${key}` : "";
    const find = (keys: string) => commands.value.findLast((c) => c.keys.includes(keys));
    const command = (two && find(two)) || find(key);
    if (command) {
      event.preventDefault();
      first = "";
      command.run();
      return;
    }
    first = key;
    firstAt = performance.now();
  });
}
