/** Where the focus goes when what has it goes away: a dialog that closes, a row that is removed, a button while it is busy. */

/** Where keys are somebody's text, or choose from a list. */
const FIELD =
  'input:not([type=checkbox]):not([type=radio]):not([type=button]), textarea, select, [contenteditable], ' +
  '[role=textbox], [role=searchbox], [role=combobox], [role=spinbutton], [role=menu], [role=dialog], [role=listbox]';
export const isField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest(FIELD) !== null;

/** Who types on after the field is gone means no key of the page; this long without a key, and they have seen it. */
const QUIET_MS = 2_000;
let typedIn: Element | null = null;
let typedAt = -Infinity;
/** The field was seen to be gone. */
let missed = false;
/** Whether a key is somebody's text: typed in a field, or in one that went away under their hands. Ask for every key once. */
export function isTyped(event: KeyboardEvent): boolean {
  if (event.isComposing || isField(event.target) || isField(document.activeElement)) return true;
  return typedIn?.isConnected === false && event.timeStamp - typedAt < QUIET_MS;
}
function watchTyping(): void {
  const over = (): void => {
    typedIn = null;
  };
  addEventListener(
    'keydown',
    (event) => {
      const { target, key, timeStamp } = event;
      // What is sent or given up is not typed on.
      if (key === 'Enter' || key === 'Escape' || key === 'Tab') return over();
      if (target instanceof Element && isField(target)) {
        typedIn = target;
        missed = false;
      } else if (!isTyped(event)) return over();
      typedAt = timeStamp;
    },
    { capture: true },
  );
  addEventListener('pointerdown', over, { capture: true });
  // Left, and not taken away.
  document.addEventListener('focusout', ({ target }) =>
    queueMicrotask(() => {
      if (target === typedIn && typedIn?.isConnected === true) over();
    }),
  );
}

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
  if (typedIn?.isConnected === false && !missed) {
    missed = true;
    typedAt = performance.now();
  }
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
  watchTyping();
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
