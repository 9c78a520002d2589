/**
 * Shows an alert in the corner until a person closes it, and also as a system notification while the page is hidden.
 */
import { notifications } from '@mantine/notifications';
import type { Alert } from '@offhook/contract/alerts.ts';
import { formatDateTime } from './format.ts';
import { loadWords, wordsOf } from './words.ts';

const t = wordsOf('alerts');
/** Notices that were closed in this browser, the newest last. */
const CLOSED = 'offhook:alerts-closed';
const MOST_CLOSED = 100;
function closedOnes(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(CLOSED) ?? '[]');
    return Array.isArray(kept) ? kept.map(String) : [];
  } catch {
    return [];
  }
}
const close = (id: string): void =>
  localStorage.setItem(
    CLOSED,
    JSON.stringify([...closedOnes().filter((one) => one !== id), id].slice(-MOST_CLOSED)),
  );

/** Class of a notice that is open until a person closes it; the page makes room for it. */
const STAYS = 'offhook-stays';

interface Notice {
  /** Alerts with equal ids are shown once at a time. */
  readonly id: string;
  readonly title: string;
  readonly message: string;
  readonly color: string;
  /** Order of notices: those with a higher number are shown first; notices of actions have 0. */
  readonly priority: number;
}
function noticeOf(event: Alert): Notice {
  if (event.type === 'call.refused') {
    const { extension, number, reason, call_limit } = event.data;
    const of = reason === 'class' ? 'budget' : reason;
    const message = t(`refused_${of}`, { extension, number, limit: call_limit ?? '' });
    return {
      id: `refused ${extension} ${reason} ${call_limit}`,
      title: t('refused'),
      message,
      color: 'orange',
      priority: -1,
    };
  }
  const { call_id, extension, name, number, location, callback_number, called_at } = event.data;
  const who = extension === null ? t('unknown_caller') : name === null ? extension : `${name} (${extension})`;
  const parts = [
    location === null ? t('emergency_nowhere', { who }) : t('emergency_where', { who, location }),
    ...(callback_number === null ? [] : [t('emergency_back', { number: callback_number })]),
    formatDateTime(called_at),
  ];
  return {
    id: `emergency ${call_id}`,
    title: t('emergency', { number }),
    message: parts.join(' '),
    color: 'red',
    priority: 1,
  };
}
/** `past`: the alert is older than this page; it is shown unless it was closed in this browser. */
export async function showAlert(event: Alert, past: boolean): Promise<void> {
  await loadWords();
  const notice = noticeOf(event);
  // The key has the time, because a limit that is exceeded again is a new alert.
  const key = `${notice.id} ${event.type === 'call.refused' ? event.data.refused_at : ''}`;
  if (past && closedOnes().includes(key)) return;
  notifications.show({ ...notice, className: STAYS, autoClose: false, onClose: () => close(key) });
  if (
    !past &&
    document.hidden &&
    typeof Notification !== 'undefined' &&
    Notification.permission === 'granted'
  )
    new Notification(notice.title, { body: notice.message, tag: notice.id, requireInteraction: true });
}
