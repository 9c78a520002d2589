/** Restores the focus when its element disappears: a dialog that closes, a row that is removed, a busy button. */

/** Elements in which keys type text or choose from a list. */
const FIELD =
  'input:not([type=checkbox]):not([type=radio]):not([type=button]), textarea, select, [contenteditable], ' +
  '[role=textbox], [role=searchbox], [role=combobox], [role=spinbutton], [role=menu], [role=dialog], [role=listbox]';
export const isField = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest(FIELD) !== null;

/** After a field disappeared, keys belong to the typed text until a pause of this length, ms. */
const QUIET_MS = 2_000;
let typedIn: Element | null = null;
let typedAt = -Infinity;
/** True once the disappearance of the field was noticed, from which the pause counts. */
let missed = false;
/** True if a key belongs to typed text: in a field, or in one that just disappeared. Call it once for every key. */
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
      // Enter, Escape and Tab end the typing.
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
  // The person left the field; it did not disappear.
  document.addEventListener('focusout', ({ target }) =>
    queueMicrotask(() => {
      if (target === typedIn && typedIn?.isConnected === true) over();
    }),
  );
}

/** The element focused last, with its ancestors that can take the focus. */
let last: readonly HTMLElement[] = [];
/** The same for elements outside dialogs, menus and notices, that is, the element that opened them. */
let opener: readonly HTMLElement[] = [];

function around(element: HTMLElement): HTMLElement[] {
  const outer = element.parentElement?.closest<HTMLElement>('[tabindex]') ?? null;
  return outer === null ? [element] : [element, ...around(outer)];
}
/** The element focused last in each open dialog, menu and notice, the newest at the end; none while the focus is outside of them. */
let within: readonly HTMLElement[] = [];
const floats = (element: HTMLElement | undefined): boolean => element?.closest('[data-portal]') != null;

function putBack(): void {
  if (typedIn?.isConnected === false && !missed) {
    missed = true;
    typedAt = performance.now();
  }
  if (document.activeElement !== document.body || last[0] === undefined) return;
  // The button is enabled again when the work is done.
  if (last[0].isConnected && last[0].matches(':disabled')) return;
  const content = document.getElementById('content');
  for (const element of [
    ...last,
    ...within.toReversed(),
    ...opener,
    ...(content === null ? [] : [content]),
  ]) {
    element.focus({ preventScroll: true });
    if (document.activeElement === element) return;
  }
}
/** Call it once; it works until the page is closed. */
export function keepFocus(): void {
  watchTyping();
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement)) return;
    last = around(target);
    // Dialogs share one portal.
    const portal = target.closest('[data-portal] > *');
    if (portal === null) opener = last;
    within =
      portal === null ? [] : [...within.filter((one) => one.isConnected && !portal.contains(one)), target];
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    if (relatedTarget !== null || !document.hasFocus()) return;
    queueMicrotask(() => {
      const [element] = last;
      // A click beside all elements removes the focus on purpose, unless it closes a dialog.
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
