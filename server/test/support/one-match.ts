/** Actions of Playwright's locators that wait until exactly one element matches, and whose failures show the page. */
import { errors } from 'playwright-core';
import type { Locator, Page } from 'playwright-core';
import { shownBy } from './page-log.ts';
import { PATIENCE_MS, until } from './until.ts';

const ACTIONS = [
  'waitFor',
  'click',
  'dblclick',
  'fill',
  'press',
  'pressSequentially',
  'selectOption',
  'check',
  'uncheck',
  'focus',
  'evaluate',
  'getAttribute',
  'innerText',
  'textContent',
  'inputValue',
  'isChecked',
  'isDisabled',
  'dragTo',
  'setInputFiles',
] as const;
const SEVERAL = 'strict mode violation';

type Action = (this: Locator, ...args: unknown[]) => Promise<unknown>;
/** Milliseconds: the action's own limit, where its options have one. */
const limitOf = (args: readonly unknown[]): number =>
  (args.at(-1) as { timeout?: number } | undefined)?.timeout ?? PATIENCE_MS;
const done = new WeakSet<object>();

/** Puts what the page and those beside it show into an error; alerts come first, because a report may cut a long message. */
async function showPage(error: Error, page: Page): Promise<Error> {
  const [first = '', ...rest] = error.message.split('\n');
  const { alerts, parts } = await shownBy(page);
  error.message = [first, `alerts: ${alerts}`, ...rest, parts].join('\n');
  return error;
}

/**
 * Playwright waits where no element matches, and fails at once where two do. For a moment two often do: a text in a dialog that
 * closes and on the page just drawn beneath it. Two that stay fail the test after the limit, with Playwright's list of them.
 */
export function awaitOneMatch(locator: Locator): void {
  const prototype = Object.getPrototypeOf(locator) as Record<(typeof ACTIONS)[number], Action>;
  if (done.has(prototype)) return;
  done.add(prototype);
  for (const name of ACTIONS) {
    const own = prototype[name];
    prototype[name] = async function act(this: Locator, ...args) {
      let several = '';
      // What the action returns or throws ends the wait; only "several" goes on.
      const end = await until(
        `one match for ${name} of ${String(this)}`,
        () =>
          own.apply(this, args).then(
            (value) => ({ value }),
            (error: Error) => {
              if (!error.message.includes(SEVERAL)) return { error };
              several = error.message;
              return null;
            },
          ),
        { ms: limitOf(args), seen: () => ({ several }) },
      ).catch((error: Error) => ({ error }));
      if ('error' in end) {
        const late = end.error instanceof errors.TimeoutError || several !== '';
        throw late ? await showPage(end.error, this.page()) : end.error;
      }
      return end.value;
    };
  }
}
