// The rows of a tree as elements that are filled anew: scrolling far makes and removes none, which costs less than half of it.
import type { EventPreview } from "../api/types.gen.ts";
import * as format from "../model/format.ts";
import { rowKey, unloaded, type Row } from "../model/tree.ts";
import { gapText } from "../model/treewindow.ts";
import { iconPath, typeIcon, type IconName } from "./icon.tsx";

/** What rows are filled with. */
export interface ShownRows {
  rows: Row[];
  rowHeight: number;
  selected: string | null;
  critical: ReadonlySet<string> | null;
  longest: number; // the longest duration, in milliseconds, for the bars
  preview: (id: string) => EventPreview | undefined;
}

/** How long after rows have come and gone their elements are put in order, in milliseconds. */
const settled = 150;

/** The levels up to which rows are indented, by 14 pixels each. */
const maxIndent = 30;

/**
 * The rows of a window on a tree. A row that comes into the window takes the elements of one that went out of it, where they stand in the
 * document; once the window rests, they are put in the order of the rows, in which they are read aloud.
 */
export class TreeRows {
  private shown = new Map<number, TreeRow>(); // by index
  private timer = 0;

  constructor(private body: HTMLElement) {}

  /** Shows the rows from an index up to another. */
  show(from: number, to: number, p: ShownRows): void {
    const free: TreeRow[] = [];
    for (const [index, row] of this.shown) {
      if (index >= from && index < to) continue;
      this.shown.delete(index);
      free.push(row);
    }
    const before = this.shown.size;
    for (let index = from; index < to; index++) {
      let row = this.shown.get(index);
      if (!row) {
        row = free.pop() ?? new TreeRow();
        this.shown.set(index, row);
        if (!row.element.isConnected) this.body.append(row.element);
      }
      row.fill(index, p);
    }
    for (const row of free) row.element.remove();
    if (this.shown.size === before) return;
    clearTimeout(this.timer);
    if (before === 0) this.order();
    else this.timer = setTimeout(() => this.order(), settled);
  }

  /** The index of the row that an element is part of, or -1. */
  indexOf(element: Element): number {
    const of = element.closest(".tree-row");
    for (const [index, row] of this.shown) if (row.element === of) return index;
    return -1;
  }

  /** Ends what is still to be done. */
  end(): void {
    clearTimeout(this.timer);
  }

  private order(): void {
    let next = this.body.firstElementChild;
    for (const [, row] of [...this.shown].sort((a, b) => a[0] - b[0])) {
      if (row.element === next) next = next.nextElementSibling;
      else this.body.insertBefore(row.element, next);
    }
  }
}

/** The elements of a row, which are copied from one: making them singly takes longer. */
let model: HTMLElement | null = null;

function newElements(): HTMLElement {
  model ??= make("div", { role: "row", class: "tree-row" }, [
    make("span", { role: "gridcell", class: "tree-cell" }, [
      make("button", { type: "button", class: "fold", tabindex: "-1" }, [glyph({ "aria-hidden": "true" })]),
      glyph({ role: "img" }),
      ...["tree-name ellipsis", "tree-model ellipsis faint", "tree-preview ellipsis faint"].map((name) => make("span", { class: name }, [" "])),
    ]),
    make("span", { role: "gridcell", class: "tree-numbers" }, ["faint", "faint", "tree-duration"].map((name) => make("span", { class: name }, [" "]))),
  ]);
  return document.importNode(model, true);
}

/** Makes an element; texts are never read as HTML, which the pages' security policy refuses. */
function make(name: string, attributes: Record<string, string>, children: (Node | string)[]): HTMLElement {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function glyph(attributes: Record<string, string>): Element {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({ class: "glyph small", viewBox: "0 0 24 24", ...attributes })) svg.setAttribute(key, value);
  svg.append(document.createElementNS("http://www.w3.org/2000/svg", "path"));
  return svg;
}

/** A row of a tree: what it shows is written where it differs from what was shown before. */
class TreeRow {
  readonly element = newElements();
  private known: Record<string, string | undefined> = {};
  private chips: Element[] = [];
  private row: Row | null = null;
  private preview: EventPreview | undefined;
  private longest = 0;

  private cell = this.element.firstElementChild as HTMLElement;
  private numbers = this.element.lastElementChild as HTMLElement;
  private foldButton = this.cell.children[0] as HTMLElement;
  private foldPath = this.foldButton.firstElementChild!.firstElementChild!;
  private icon = this.cell.children[1]!;
  private iconPath = this.icon.firstElementChild!;
  private name = this.cell.children[2] as HTMLElement;
  private said = [this.cell.children[3], this.cell.children[4]] as [HTMLElement, HTMLElement];
  private spent = [this.numbers.children[0], this.numbers.children[1]] as [HTMLElement, HTMLElement];
  private duration = this.numbers.children[2] as HTMLElement;

  fill(index: number, p: ShownRows): void {
    const row = p.rows[index]!;
    const n = row.node;
    const selected = n.id === p.selected && !row.gap;
    this.attribute(this.element, "aria-rowindex", String(index + 1));
    this.attribute(this.element, "aria-selected", String(selected));
    this.attribute(this.element, "class", `tree-row${selected ? " selected" : ""}${row.grey ? " grey" : ""}${row.gap ? " gap" : ""}${p.critical?.has(n.id) ? " critical" : ""}`);
    this.style("top", `${index * p.rowHeight}px`);
    this.style("height", `${p.rowHeight}px`);
    const preview = row.gap ? undefined : p.preview(n.id);
    if (this.row === row && this.preview === preview && this.longest === p.longest) return;
    if (this.row !== row || this.longest !== p.longest) this.fillEvent(row, p.longest);
    this.text(this.said[0], preview?.model ?? "", "model");
    this.text(this.said[1], n.type === "session" ? "" : preview?.output || preview?.input || "", "preview");
    this.row = row;
    this.preview = preview;
    this.longest = p.longest;
  }

  private fillEvent(row: Row, longest: number): void {
    const n = row.node;
    const folds = !row.gap && (n.children.length > 0 || row.group !== null || unloaded(n));
    const indent = Math.min(row.depth, maxIndent) * 14;
    this.attribute(this.element, "id", `event-${rowKey(row)}`);
    this.attribute(this.element, "data-event", row.gap ? undefined : n.id);
    this.attribute(this.element, "aria-level", String(row.depth + 1));
    this.attribute(this.element, "aria-expanded", folds ? String(!row.folded) : undefined);
    this.style("paddingLeft", `${8 + indent}px`);
    this.style("backgroundSize", `${indent}px 100%`);
    this.attribute(this.cell, "class", folds ? "tree-cell" : "tree-cell leaf", "cell");
    if (folds) {
      this.attribute(this.foldButton, "aria-label", row.folded ? "Unfold" : "Fold");
      this.attribute(this.foldPath, "d", iconPath(row.folded ? "right" : "down"), "fold");
    }
    this.attribute(this.icon, "class", `glyph small type-${n.type}`, "icon");
    this.attribute(this.icon, "aria-label", n.type, "type");
    this.attribute(this.iconPath, "d", iconPath(typeIcon(n.type)));
    this.text(this.name, row.gap ? gapText(row.gap) : n.name, "name");
    this.fillChips(row);
    this.text(this.spent[0], n.tokens !== null && n.tokens > 0 ? `${format.short(n.tokens)} tok` : "", "tokens");
    this.attribute(this.spent[0], "title", n.tokens ? `${format.count(n.tokens)} tokens` : undefined);
    this.text(this.spent[1], n.cost !== null && n.cost > 0 ? format.cost(n.cost) : "", "cost");
    const duration = row.group ? row.group.reduce((sum, g) => sum + g.duration, 0) : n.duration;
    this.text(this.duration, format.duration(duration), "duration");
    const bar = `${Math.max(1, Math.min(100, (duration / longest) * 100))}% 2px`;
    if (this.known.bar !== bar) this.duration.style.backgroundSize = this.known.bar = bar;
  }

  /** Chips are rare: they are made where they are needed. */
  private fillChips(row: Row): void {
    const n = row.node;
    if (this.chips.length > 0) for (const c of this.chips) c.remove();
    this.chips.length = 0;
    if (row.gap) return;
    const add = (text: string, tone = "", icon?: IconName, title?: string) => {
      const chip = document.createElement("span");
      chip.className = `chip ${tone}`;
      if (title) chip.title = title;
      if (icon) {
        const glyph = this.icon.cloneNode(true) as Element;
        glyph.setAttribute("class", "glyph small");
        glyph.removeAttribute("role");
        glyph.removeAttribute("aria-label");
        glyph.setAttribute("aria-hidden", "true");
        glyph.firstElementChild!.setAttribute("d", iconPath(icon));
        chip.append(glyph);
      }
      chip.append(text);
      this.chips.push(chip);
      this.cell.insertBefore(chip, this.said[0]);
    };
    if (row.group) add(`×${row.group.length}`);
    else if (row.folded) add(`+${format.count(n.below)}`);
    if (row.folded && n.errorsBelow > 0) add(format.plural(n.errorsBelow, "error"), "bad", "alert");
    if (n.error) add("error", "bad", "alert", n.error);
    if (n.running) add("running", "running", "live");
    if (n.note === "orphan") add("parent missing", "", undefined, "The event names a parent that was not received (yet).");
    if (n.note === "cycle") add("cycle cut", "", undefined, "The event was its own ancestor: it is shown here instead.");
  }

  private attribute(element: Element, name: string, value: string | undefined, known = name): void {
    if (this.known[known] === value) return;
    this.known[known] = value;
    if (value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, value);
  }

  private style(name: "top" | "height" | "paddingLeft" | "backgroundSize", value: string): void {
    if (this.known[name] !== value) this.element.style[name] = this.known[name] = value;
  }

  /** Writes a text; an element without one takes no place. */
  private text(element: HTMLElement, value: string, known: string): void {
    const before = this.known[known] ?? " ";
    if (before === value) return;
    this.known[known] = value;
    (element.firstChild as Text).data = value;
    if ((before === "") !== (value === "")) element.hidden = value === "";
  }
}
