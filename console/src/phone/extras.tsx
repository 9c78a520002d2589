/** Signs that desk, phone and supervisor share: a call is recorded, or parked. */
import type { ReactNode } from 'react';
import { Button, Text, VisuallyHidden } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { CircleDot, CirclePause, CirclePlay, PhoneIncoming } from 'lucide-react';
import type { CallState, Client } from '@offhook/client';
import { formatSpan } from '../app/format.ts';
import { useSince } from '../app/now.ts';
import { useOnce } from '../app/once.ts';
import { useClient, useMay } from '../app/session.tsx';
import { tellFailure } from '../app/tell.ts';
import { wordsOf } from '../app/words.ts';
import styles from './extras.module.css';
import { phone } from './phone.ts';

const t = wordsOf('extras');

/** Null where no leg of the call is recorded. */
export function recordingOf({ legs }: CallState): 'on' | 'paused' | null {
  const recorded = legs.filter((leg) => leg.recording);
  if (recorded.length === 0) return null;
  return recorded.every((leg) => leg.recording_paused) ? 'paused' : 'on';
}
interface RecordingSignProps {
  readonly call: CallState;
  /** The person takes part in the call and may pause the recording. */
  readonly own: boolean;
}
export function RecordingSign({ call, own }: RecordingSignProps): ReactNode {
  const client = useClient();
  const may = useMay('agent');
  const state = recordingOf(call);
  const change = useOnce({
    mutationFn: (pause: boolean) =>
      pause ? client.calls.pauseRecording(call.call_id) : client.calls.resumeRecording(call.call_id),
    onError: tellFailure,
  });
  const paused = state === 'paused';
  return (
    <div className={styles.recording} role="status">
      {state !== null && (
        <>
          <span className={styles.sign} data-paused={paused || undefined}>
            {paused ? <CirclePause size={16} aria-hidden /> : <CircleDot size={16} aria-hidden />}
            {t(paused ? 'recording_paused' : 'recorded')}
          </span>
          {own && may && (
            <Button
              size="xs"
              variant="default"
              loading={change.isPending}
              leftSection={
                paused ? <CirclePlay size={16} aria-hidden /> : <CirclePause size={16} aria-hidden />
              }
              onClick={() => change.mutate(!paused)}
            >
              {t(paused ? 'resume_recording' : 'pause_recording')}
            </Button>
          )}
        </>
      )}
    </div>
  );
}

/** Parks the other side and shows its slot until that is dismissed. */
export async function park(client: Client, call_id: string): Promise<void> {
  const { slot } = await client.calls.park(call_id);
  notifications.show({
    message: `${t('parked_on', { slot })}. ${t('parked_hint', { slot })}`,
    autoClose: 30_000,
  });
}
interface ParkedShown {
  readonly slot: string;
  readonly who: string;
  readonly since: string;
}
interface Parked extends ParkedShown {
  readonly call: CallState;
}
export const parkedOf = (calls: Iterable<CallState>): readonly Parked[] =>
  [...calls].flatMap((call) =>
    call.legs.flatMap(({ slot, name, number, since }): Parked[] =>
      slot === null ? [] : [{ call, slot, who: name || number || t('unknown_caller'), since }],
    ),
  );
/** Answered at once by the phone of this page, else the own devices ring. */
export async function takeBack(
  client: Client,
  { call_id, slot }: { call_id: string; slot: string },
): Promise<void> {
  if (phone.call(slot)) return;
  await client.calls.retrieve(call_id);
}
interface ParkedRowProps extends ParkedShown {
  /** Extension that parked the call, if it is shown. */
  readonly by?: string | null;
  readonly label: string;
  readonly onTake: () => Promise<unknown>;
}
export function ParkedRow({ slot, who, since, by = null, label, onTake }: ParkedRowProps): ReactNode {
  const waits = useSince(since);
  const take = useOnce({ mutationFn: onTake, onError: tellFailure });
  return (
    <li>
      <div className={styles.who}>
        <Text fw={600} truncate dir="auto">
          {who}
        </Text>
        <Text size="sm" c="dimmed">
          {t('slot', { slot })} · {formatSpan(waits)}
          {by !== null && ` · ${t('parked_by', { who: by })}`}
        </Text>
      </div>
      <Button
        variant="default"
        loading={take.isPending}
        leftSection={<PhoneIncoming size={16} aria-hidden />}
        onClick={() => take.mutate()}
      >
        {label}
        <VisuallyHidden> {who}</VisuallyHidden>
      </Button>
    </li>
  );
}
/** Renders nothing without a parked call. */
export function ParkedCalls({ calls }: { readonly calls: Iterable<CallState> }): ReactNode {
  const client = useClient();
  const parked = parkedOf(calls);
  if (parked.length === 0) return null;
  return (
    <ParkedList>
      {parked.map(({ call, ...one }) => (
        <ParkedRow
          key={`${call.call_id} ${one.slot}`}
          {...one}
          label={t('retrieve')}
          onTake={() => takeBack(client, { call_id: call.call_id, slot: one.slot })}
        />
      ))}
    </ParkedList>
  );
}
export function ParkedList({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <section aria-label={t('parked_calls')}>
      <Text size="sm" fw={650} mb={6} aria-hidden>
        {t('parked_calls')}
      </Text>
      <ul className={styles.parked}>{children}</ul>
    </section>
  );
}
