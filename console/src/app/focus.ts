/** Where the focus goes when what has it goes away: a dialog that closes, a row that is removed, a button while it is busy. */

/** What was focused last, and what around it can have the focus. */
let last: readonly HTMLElement[] = [];
/** The same of what is no dialog, menu or notice: it opened them, however many there were. */
let opener: readonly HTMLElement[] = [];

function around(element: HTMLElement): HTMLElement[] {
  const outer = element.parentElement?.closest<HTMLElement>('[tabindex]') ?? null;
  return outer === null ? [element] : [element, ...around(outer)];
}
const floats = (element: HTMLElement | undefined): boolean => element?.closest('[data-portal]') != null;

function putBack(): void {
  if (document.activeElement !== document.body || last[0] === undefined) return;
  // It comes back when the work is done.
  if (last[0].isConnected && last[0].matches(':disabled')) return;
  const content = document.getElementById('content');
  for (const element of [...last, ...opener, ...(content === null ? [] : [content])]) {
    element.focus({ preventScroll: true });
    if (document.activeElement === element) return;
  }
}
/** For the whole life of the page. */
export function keepFocus(): void {
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement)) return;
    last = around(target);
    if (!floats(target)) opener = last;
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    if (relatedTarget !== null || !document.hasFocus()) return;
    queueMicrotask(() => {
      const [element] = last;
      // Who clicks beside everything wants it nowhere; beside a dialog that closes it.
      if (element !== target || element?.isConnected !== true) return;
      if (element.matches(':disabled') || floats(element)) return;
      last = [];
      opener = opener.slice(1);
    });
  });
  new MutationObserver(putBack).observe(document.body, {
    childList: true,
    subtree: true,
    attributeFilter: ['disabled'],
  });
}
