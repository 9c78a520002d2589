/** Notifies of a ringing call while the page is hidden: a system notification and a changed title. */
import type { PhoneCall } from './phone-state.ts';
import { stateWords } from './say.ts';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('phone');

const BLINK_MS = 1_000;
export interface Notices {
  show(calls: readonly PhoneCall[], notify: boolean): void;
  close(): void;
}
/** Null where the browser allows only a service worker to show one, as on Android. */
function systemNotice(title: string, options: NotificationOptions): Notification | null {
  try {
    return new Notification(title, options);
  } catch {
    return null;
  }
}
export const canNotify = (): boolean => typeof Notification !== 'undefined';

export function beginNotices(): Notices {
  let title: { was: string; readonly words: string; readonly timer: ReturnType<typeof setInterval> } | null =
    null;
  let notice: { readonly call: string; readonly notice: Notification } | null = null;
  function steady(): void {
    if (title === null) return;
    clearInterval(title.timer);
    if (document.title === title.words) document.title = title.was;
    title = null;
  }
  function blink(words: string): void {
    if (title !== null) return;
    const shown = { words, was: document.title, timer: setInterval(() => turn(), BLINK_MS) };
    function turn(): void {
      // Another page was opened meanwhile and has its own title.
      if (document.title !== words) shown.was = document.title;
      document.title = document.title === words ? shown.was : words;
    }
    turn();
    title = shown;
  }
  function unnotice(): void {
    notice?.notice.close();
    notice = null;
  }
  return {
    show(calls, notify) {
      const ringing = calls.find((call) => call.state === 'incoming');
      if (ringing === undefined) {
        steady();
        return unnotice();
      }
      const who = ringing.name === '' ? ringing.number : `${ringing.name} (${ringing.number})`;
      blink(t('title_ringing', { who }));
      if (notice?.call === ringing.id || !notify || !document.hidden) return;
      if (!canNotify() || Notification.permission !== 'granted') return;
      unnotice();
      const shown = systemNotice(stateWords(ringing), {
        body: who,
        tag: 'offhook.call',
        requireInteraction: true,
      });
      if (shown === null) return;
      shown.addEventListener('click', () => {
        window.focus();
        shown.close();
      });
      notice = { call: ringing.id, notice: shown };
    },
    close() {
      steady();
      unnotice();
    },
  };
}
