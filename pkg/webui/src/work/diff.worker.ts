// Compares texts beside the page, since long ones take a while.
import { compareTexts } from "../model/align.ts";

addEventListener("message", (event: MessageEvent<{ id: number; left: string; right: string }>) => {
  postMessage({ id: event.data.id, pieces: compareTexts(event.data.left, event.data.right) });
});
