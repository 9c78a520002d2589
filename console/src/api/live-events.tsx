import { memo, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { Badge, Button, Checkbox, Chip, Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import type { StreamItem, StreamState } from '@offhook/client';
import { formatClock, formatNumber } from '../app/format.ts';
import { useClient, useMe } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { found, normal } from './operations.ts';
import { Code, Disclosure } from './parts.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './api.module.css';

const t = wordsOf('api');

/** Number of events kept; the oldest are dropped. */
const MOST = 300;
const DRAW_MS = 100;
interface Heard {
  readonly n: number;
  readonly at: number;
  readonly item: StreamItem;
  readonly text: string;
}
const Row = memo(function Row({ heard: { item, at } }: { readonly heard: Heard }): ReactNode {
  const subject = 'subject' in item ? item.subject : 'topic' in item ? item.topic : '';
  return (
    <Disclosure
      className={styles.operation}
      head={
        <span className={styles.frame}>
          <span className={styles.note}>{formatClock('time' in item ? item.time : at)}</span>
          <span className={styles.frameType}>{item.type}</span>
          <span className={styles.summary}>{subject}</span>
        </span>
      }
    >
      {() => <Code label={item.type} text={JSON.stringify(item, null, 2)} />}
    </Disclosure>
  );
});

/** The newest events of the followed topics; with null nothing is followed, and they stay. */
function useFollowed(
  topics: readonly string[] | null,
  snapshot: boolean,
  onFailure: (error: unknown) => void,
) {
  const client = useClient();
  const [state, setState] = useState<StreamState>('connecting');
  const [shown, setShown] = useState<readonly Heard[]>([]);
  const [count, setCount] = useState(0);
  const heard = useRef<Heard[]>([]);
  const number = useRef(0);
  const draw = (): void => {
    setShown([...heard.current]);
    setCount(number.current);
  };
  useEffect(() => {
    if (topics === null) return undefined;
    setState('connecting');
    const stream = client.stream({ topics, snapshot, onState: (next) => setState(next) });
    let drawing: ReturnType<typeof setTimeout> | undefined;
    async function follow(): Promise<void> {
      try {
        for await (const item of stream) {
          const text = normal(JSON.stringify(item));
          heard.current = [
            { n: ++number.current, at: Date.now(), item, text },
            ...heard.current.slice(0, MOST - 1),
          ];
          drawing ??= setTimeout(() => {
            drawing = undefined;
            draw();
          }, DRAW_MS);
        }
      } catch (failure) {
        onFailure(failure);
      }
    }
    void follow();
    return () => {
      stream.close();
      clearTimeout(drawing);
      draw();
    };
    // `snapshot` applies when following starts.
  }, [client, topics]);
  return {
    state,
    shown,
    count,
    /** Number of the newest event, drawn or not. */
    newest: (): number => number.current,
    clear: (): void => {
      heard.current = [];
      number.current = 0;
      draw();
    },
  };
}
interface FramesProps extends Pick<ReturnType<typeof useFollowed>, 'shown' | 'count'> {
  /** Number of the last event that is shown; null: all. */
  readonly paused: number | null;
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly onClear: () => void;
}
/** The events with a filter, newest first. */
function Frames({ shown, count, paused, query, onQuery, onClear }: FramesProps): ReactNode {
  const wanted = useDeferredValue(query);
  const matching = useMemo(
    () => found(paused === null ? shown : shown.filter(({ n }) => n <= paused), wanted),
    [shown, paused, wanted],
  );
  const waits = paused === null ? 0 : count - paused;
  return (
    <>
      <Group gap="sm" align="end">
        <TextInput
          label={t('filter')}
          placeholder={t('filter_hint')}
          value={query}
          onChange={(event) => onQuery(event.currentTarget.value)}
          className={styles.grow ?? ''}
        />
        <Button variant="subtle" onClick={onClear}>
          {t('clear')}
        </Button>
      </Group>
      <Text size="sm" c="dimmed">
        {t('heard', { count })}
        {count > MOST && `, ${t('kept', { count: formatNumber(MOST) })}`}
        {waits > 0 && `, ${t('waiting', { count: waits })}`}
      </Text>
      {matching.length === 0 ? (
        <Text size="sm">{t('quiet')}</Text>
      ) : (
        <div className={styles.frames} data-frames={matching.length}>
          {matching.map((each) => (
            <Row key={each.n} heard={each} />
          ))}
        </div>
      )}
    </>
  );
}

/** Follows topics as the person of this page, and shows the last few hundred events. */
export function LiveEvents({ topics }: { readonly topics: readonly string[] }): ReactNode {
  const me = useMe();
  const [picked, setPicked] = useState<string[]>(() => ['calls']);
  const [more, setMore] = useState('');
  const [snapshot, setSnapshot] = useState(false);
  const [following, setFollowing] = useState<readonly string[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [paused, setPaused] = useState<number | null>(null);
  const [query, setQuery] = useState('');
  const { state, shown, count, newest, clear } = useFollowed(following, snapshot, (failure) => {
    setError(failure);
    setFollowing(null);
  });
  const wishes = [...new Set([...picked, ...more.split(',').map((each) => each.trim())])].filter(Boolean);
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <div>
          <Title order={2} size="h4">
            {t('watch')}
          </Title>
          <Text size="sm" c="dimmed">
            {t('watch_lead', { name: me.full_name ?? me.username })}
          </Text>
        </div>
        <div role="group" aria-label={t('topics')}>
          <Chip.Group multiple value={picked} onChange={setPicked}>
            <Group gap="xs">
              {topics.map((topic) => (
                <Chip key={topic} value={topic} disabled={following !== null}>
                  {topic}
                </Chip>
              ))}
            </Group>
          </Chip.Group>
        </div>
        <TextInput
          label={t('more_topics')}
          description={t('more_topics_hint')}
          value={more}
          onChange={(event) => setMore(event.currentTarget.value)}
          disabled={following !== null}
          maw={520}
        />
        <Checkbox
          label={t('with_snapshot')}
          checked={snapshot}
          onChange={(event) => setSnapshot(event.currentTarget.checked)}
          disabled={following !== null}
        />
        <Group gap="sm">
          {following === null ? (
            <Button
              disabled={wishes.length === 0}
              onClick={() => {
                setError(null);
                setPaused(null);
                setFollowing(wishes);
              }}
            >
              {t('start')}
            </Button>
          ) : (
            <>
              <Button variant="default" onClick={() => setFollowing(null)}>
                {t('stop')}
              </Button>
              <Button variant="default" onClick={() => setPaused(paused === null ? newest() : null)}>
                {paused === null ? t('pause') : t('go_on')}
              </Button>
              <Badge variant="default" className={styles.badge ?? ''} role="status">
                {t(`state_${state}`)}
              </Badge>
            </>
          )}
          {wishes.length === 0 && <Text size="sm">{t('pick_topic')}</Text>}
        </Group>
        {error !== null && <Failure error={error} />}
        {(following !== null || shown.length > 0) && (
          <Frames
            shown={shown}
            count={count}
            paused={paused}
            query={query}
            onQuery={setQuery}
            onClear={() => {
              clear();
              if (paused !== null) setPaused(0);
            }}
          />
        )}
      </Stack>
    </Paper>
  );
}
