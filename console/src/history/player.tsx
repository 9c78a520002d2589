import { useId, useRef, useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import { ActionIcon, Button, Group, Modal, NativeSelect, Paper, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Download, Pause, Play, RotateCcw, RotateCw, Trash2 } from 'lucide-react';
import type { Conversation } from '@offhook/contract/conversations.ts';
import { QuietIcon } from '../app/quiet-icon.ts';
import { formatClock, formatNumber, formatSpan } from '../app/format.ts';
import { useOnce } from '../app/once.ts';
import { consoleSettingsQuery } from '../app/queries.ts';
import { useClient, useMay } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import type { Recording } from './course.ts';
import { nameOf } from './party.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './conversation.module.css';

const t = wordsOf('player');
const say = wordsOf('history');

const JUMP = 10;
const SPEEDS = ['0.75', '1', '1.25', '1.5', '2'] as const;
const audioOf = (id: string): string => `/api/v1/recordings/${encodeURIComponent(id)}/audio`;

/** Asks for confirmation: a deleted recording cannot be restored. */
function Remove({
  recording,
  onDone,
}: {
  readonly recording: Recording;
  readonly onDone: () => void;
}): ReactNode {
  const client = useClient();
  const [asked, setAsked] = useState(false);
  const remove = useOnce({
    mutationFn: () => client.recordings.remove(recording.id),
    onSuccess() {
      setAsked(false);
      notifications.show({ message: t('deleted') });
      onDone();
    },
  });
  return (
    <>
      <ActionIcon
        variant="subtle"
        color="red"
        size={40}
        aria-label={t('delete')}
        onClick={() => setAsked(true)}
      >
        <Trash2 size={18} aria-hidden />
      </ActionIcon>
      <Modal opened={asked} onClose={() => setAsked(false)} title={t('delete_recording')} centered>
        <Stack>
          <Text size="sm">{t('delete_text')}</Text>
          {remove.isError && <Failure error={remove.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setAsked(false)} data-autofocus>
              {say('cancel')}
            </Button>
            <Button color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
              {t('delete')}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
/** One audio element. The service sends ranges, so a long recording starts at once and a jump loads only the played part. */
function usePlayback(recording: Recording) {
  const client = useClient();
  const audio = useRef<HTMLAudioElement>(null);
  const [playing, setPlaying] = useState(false);
  const [at, setAt] = useState(0);
  const [length, setLength] = useState(recording.duration);
  const [error, setError] = useState<unknown>(null);
  const renewed = useRef(false);

  async function play(): Promise<void> {
    setError(null);
    // A refused start also raises the element's error event.
    await audio.current?.play().catch(() => undefined);
  }
  /** The element reports no reason; a request to the service does, and renews an ended session. */
  async function failed(): Promise<void> {
    setPlaying(false);
    try {
      await client.audio(recording.id, { range: 'bytes=0-0' });
    } catch (refusal) {
      setError(refusal);
      return;
    }
    if (renewed.current) return;
    renewed.current = true;
    const place = at;
    audio.current?.load();
    if (audio.current) audio.current.currentTime = place;
    await play();
  }
  const seek = (to: number): void => {
    const place = Math.min(length, Math.max(0, to));
    if (audio.current) audio.current.currentTime = place;
    setAt(place);
  };
  const toggle = (): void => {
    if (playing) audio.current?.pause();
    else void play();
  };
  const onLength = (duration: number): void => {
    if (Number.isFinite(duration) && duration > 0) setLength(duration);
  };
  const element = (
    <audio
      ref={audio}
      src={audioOf(recording.id)}
      preload="none"
      onPlay={() => setPlaying(true)}
      onPause={() => setPlaying(false)}
      onTimeUpdate={(event) => setAt(event.currentTarget.currentTime)}
      onDurationChange={(event) => onLength(event.currentTarget.duration)}
      onPlaying={() => (renewed.current = false)}
      onError={() => void failed()}
    />
  );
  const setSpeed = (speed: number): void => {
    if (audio.current) audio.current.playbackRate = speed;
  };
  return { element, playing, at, length, error, play, toggle, seek, setSpeed };
}
interface SeekBarProps {
  readonly recording: Recording;
  /** Position and length in seconds. */
  readonly at: number;
  readonly length: number;
  readonly onSeek: (to: number) => void;
}
/** The position, with the intervals in which recording was paused. */
function SeekBar({ recording, at, length, onSeek }: SeekBarProps): ReactNode {
  const id = useId();
  const began = Date.parse(recording.started_at);
  const windows = recording.paused.map(({ from, to }) => {
    const start = (Date.parse(from) - began) / 1000;
    const end = to === null ? length : (Date.parse(to) - began) / 1000;
    return { left: (start / length) * 100, width: ((end - start) / length) * 100 };
  });
  return (
    <div className={styles.seek}>
      <input
        id={id}
        type="range"
        min={0}
        max={Math.max(0.1, length)}
        step={0.1}
        value={Math.min(at, length)}
        onChange={(event) => onSeek(Number(event.currentTarget.value))}
        aria-label={t('seek')}
        aria-valuetext={`${formatSpan(at)} / ${formatSpan(length)}`}
      />
      <div className={styles.windows} aria-hidden>
        {windows.map(({ left, width }, i) => (
          <span key={i} style={{ left: `${left}%`, width: `${width}%` }} />
        ))}
      </div>
    </div>
  );
}
function Sound({ recording, name }: { readonly recording: Recording; readonly name: string }): ReactNode {
  const { element, playing, at, length, error, play, toggle, seek, setSpeed } = usePlayback(recording);
  function onKeyDown(event: KeyboardEvent): void {
    const own = event.target instanceof HTMLElement && /^(SELECT|A)$/.test(event.target.tagName);
    if (own || event.ctrlKey || event.metaKey || event.altKey) return;
    const deed = { k: toggle, j: () => seek(at - JUMP), l: () => seek(at + JUMP) }[event.key];
    if (deed === undefined) return;
    event.preventDefault();
    deed();
  }
  return (
    <div role="group" aria-label={t('recording_of', { name })} onKeyDown={onKeyDown}>
      {element}
      <div className={styles.player}>
        <ActionIcon
          size={44}
          radius="xl"
          onClick={toggle}
          aria-label={t(playing ? 'pause' : 'play')}
          aria-keyshortcuts="k"
        >
          {playing ? <Pause size={20} aria-hidden /> : <Play size={20} aria-hidden />}
        </ActionIcon>
        <QuietIcon onClick={() => seek(at - JUMP)} aria-label={t('back_10')} aria-keyshortcuts="j">
          <RotateCcw size={18} aria-hidden />
        </QuietIcon>
        <QuietIcon onClick={() => seek(at + JUMP)} aria-label={t('ahead_10')} aria-keyshortcuts="l">
          <RotateCw size={18} aria-hidden />
        </QuietIcon>
        <SeekBar recording={recording} at={at} length={length} onSeek={seek} />
        <Text size="sm" className={styles.position ?? ''}>
          {formatSpan(at)} / {formatSpan(length)}
        </Text>
        <NativeSelect
          size="xs"
          aria-label={t('speed')}
          defaultValue="1"
          onChange={(event) => setSpeed(Number(event.currentTarget.value))}
          data={SPEEDS.map((value) => ({ value, label: `${formatNumber(Number(value), 2)}×` }))}
        />
        <QuietIcon component="a" href={audioOf(recording.id)} download aria-label={t('download')}>
          <Download size={18} aria-hidden />
        </QuietIcon>
      </div>
      {recording.paused.length > 0 && (
        <Text size="xs" c="dimmed" mt={4}>
          {t('paused_windows', { count: recording.paused.length })}
        </Text>
      )}
      {error !== null && <Failure error={error} onRetry={() => void play()} />}
    </div>
  );
}
interface RecordingsProps {
  readonly conversation: Conversation;
  /** Whether the person supervises or talked in it; else there is no player, because the service would refuse the audio. */
  readonly mayPlay: boolean;
}
export function Recordings({ conversation, mayPlay }: RecordingsProps): ReactNode {
  const queries = useQueryClient();
  const supervisor = useMay('supervisor');
  const settings = useQuery(consoleSettingsQuery(useClient()));
  if (settings.isPending) return null;
  const own = supervisor || settings.data?.own_recordings !== false;
  const { recordings, legs } = conversation;
  const nameOfLeg = (leg: string | null): string => {
    const known = legs.find((l) => l.leg_id === leg);
    return known === undefined ? say('nobody') : nameOf(known.participant);
  };
  return (
    <Stack gap="sm">
      {recordings.map((recording) => {
        const { id, state } = recording;
        const name = nameOfLeg(recording.leg_id);
        return (
          <Paper key={id} withBorder p="sm" data-recording={id}>
            <Group justify="space-between" wrap="nowrap">
              <Text size="sm">
                <bdi>{name}</bdi>
                <Text span inherit c="dimmed">
                  {` · ${formatClock(recording.started_at)} · ${t(`by_${recording.by}`)}`}
                </Text>
              </Text>
              {supervisor && state === 'stored' && (
                <Remove
                  recording={recording}
                  onDone={() => void queries.invalidateQueries({ queryKey: ['conversation'] })}
                />
              )}
            </Group>
            {state === 'stored' && mayPlay && own ? (
              <Sound recording={recording} name={name} />
            ) : (
              <Text size="sm" c="dimmed">
                {t(state !== 'stored' ? `is_${state}` : own ? 'not_yours' : 'supervisors_only')}
              </Text>
            )}
          </Paper>
        );
      })}
      <Text size="xs" c="dimmed">
        {t('audited')}
      </Text>
    </Stack>
  );
}
