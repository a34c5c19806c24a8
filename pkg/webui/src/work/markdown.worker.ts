// Reads Markdown beside the page, since some texts take long. The page gets tokens, never HTML.
import { Lexer } from "marked";

addEventListener("message", (event: MessageEvent<{ id: number; text: string }>) => {
  let tokens: unknown = null;
  try {
    tokens = new Lexer({ gfm: true }).lex(event.data.text);
  } catch {
    // Nested too deeply: the page shows the text as it is.
  }
  postMessage({ id: event.data.id, tokens });
});
