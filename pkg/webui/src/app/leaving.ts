// Asks before the address leaves a page with work that is not saved. The question stands in the page, and the page stays meanwhile.
import { useEffect, useRef, useState } from "preact/hooks";
import { go, holding } from "./router.ts";

export interface Leaving {
  to: string | null; // the address that somebody wants to go to
  stay: () => void;
  leave: () => void;
  free: () => void; // from now on nothing is asked
}

/** While work is unsaved, an address that is none of the page's is not gone to before leave is called. */
export function useLeaving(unsaved: boolean, own: string): Leaving {
  const [to, setTo] = useState<string | null>(null);
  const free = useRef(false);
  useEffect(() => {
    if (!unsaved) return;
    free.current = false;
    holding.keep = (next) => {
      if (free.current || next.split("?")[0] === own) return false;
      setTo(next);
      return true;
    };
    return () => { holding.keep = null; };
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
