// Asks before the address leaves a page with work that is not saved. The question stands in the page, and the page stays meanwhile.
import { useEffect, useRef, useState } from "preact/hooks";
import { go } from "./router.ts";

export interface Leaving {
  to: string | null; // the address that somebody wants to go to
  stay: () => void;
  leave: () => void;
  free: () => void; // from now on nothing is asked
}

/** While work is unsaved, an address that does not begin as one of the page's is not gone to before leave is called. */
export function useLeaving(unsaved: boolean, own: string): Leaving {
  const [to, setTo] = useState<string | null>(null);
  const free = useRef(false);
  const here = useRef(location.hash);
  useEffect(() => {
    if (!unsaved) return;
    free.current = false;
    here.current = location.hash;
    // Before the router sees it: otherwise the page were gone when it asks.
    const onHash = (e: HashChangeEvent) => {
      const inPage = location.hash.split("?")[0] === own;
      if (inPage || free.current) {
        here.current = location.hash;
        return;
      }
      e.stopImmediatePropagation();
      setTo(location.hash);
      history.replaceState(history.state, "", here.current);
    };
    addEventListener("hashchange", onHash, true);
    return () => removeEventListener("hashchange", onHash, true);
  }, [unsaved, own]);
  return {
    to,
    stay: () => setTo(null),
    free: () => { free.current = true; },
    leave: () => {
      free.current = true;
      setTo(null);
      if (to !== null) go(to);
    },
  };
}
