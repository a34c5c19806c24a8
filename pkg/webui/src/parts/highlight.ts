// Marks words in what is shown without changing it: the CSS Custom Highlight API paints ranges.
import { lower } from "../model/format.ts";

const maxMarks = 2000;

/** Marks a word in the texts below an element, and in what comes there later; at most 2,000 times. Returns what ends it. */
export function markWords(element: HTMLElement | null, word: string): () => void {
  const needle = lower(word.trim());
  if (!element || needle.length < 2 || !("highlights" in CSS)) return () => {};
  let frame = 0;
  const paint = () => {
    const ranges: Range[] = [];
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && ranges.length < maxMarks; node = walker.nextNode()) {
      const text = lower(node.nodeValue!);
      for (let at = text.indexOf(needle); at >= 0 && ranges.length < maxMarks; at = text.indexOf(needle, at + needle.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + needle.length);
        ranges.push(range);
      }
    }
    CSS.highlights.set("word", new Highlight(...ranges));
  };
  const later = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(paint);
  };
  const observer = new MutationObserver(later);
  observer.observe(element, { childList: true, subtree: true, characterData: true });
  later();
  return () => {
    observer.disconnect();
    cancelAnimationFrame(frame);
    CSS.highlights.delete("word");
  };
}
