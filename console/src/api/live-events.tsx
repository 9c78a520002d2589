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

/** The oldest give way. */
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

/** Follows topics as the person of this page, and shows the last few hundred events. */
export function LiveEvents({ topics }: { readonly topics: readonly string[] }): ReactNode {
  const client = useClient();
  const me = useMe();
  const [picked, setPicked] = useState<string[]>(() => ['calls']);
  const [more, setMore] = useState('');
  const [snapshot, setSnapshot] = useState(false);
  const [following, setFollowing] = useState<readonly string[] | null>(null);
  const [state, setState] = useState<StreamState>('connecting');
  const [error, setError] = useState<unknown>(null);
  const [shown, setShown] = useState<readonly Heard[]>([]);
  const [count, setCount] = useState(0);
  const [paused, setPaused] = useState<number | null>(null);
  const [query, setQuery] = useState('');
  const wanted = useDeferredValue(query);
  const heard = useRef<Heard[]>([]);
  const number = useRef(0);

  useEffect(() => {
    if (following === null) return undefined;
    const stream = client.stream({ topics: following, snapshot, onState: (next) => setState(next) });
    let drawing: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      drawing = undefined;
      setShown([...heard.current]);
      setCount(number.current);
    };
    async function follow(): Promise<void> {
      try {
        for await (const item of stream) {
          const text = normal(JSON.stringify(item));
          heard.current = [
            { n: ++number.current, at: Date.now(), item, text },
            ...heard.current.slice(0, MOST - 1),
          ];
          drawing ??= setTimeout(draw, DRAW_MS);
        }
      } catch (failure) {
        setError(failure);
        setFollowing(null);
      }
    }
    void follow();
    return () => {
      stream.close();
      clearTimeout(drawing);
      draw();
    };
    // The choice of the state first is asked for once, at the start.
  }, [client, following]);

  const wishes = [...new Set([...picked, ...more.split(',').map((each) => each.trim())])].filter(Boolean);
  const stood = useMemo(
    () => found(paused === null ? shown : shown.filter(({ n }) => n <= paused), wanted),
    [shown, paused, wanted],
  );
  const waits = paused === null ? 0 : count - paused;
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
                setState('connecting');
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
              <Button variant="default" onClick={() => setPaused(paused === null ? number.current : null)}>
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
          <>
            <Group gap="sm" align="end">
              <TextInput
                label={t('filter')}
                placeholder={t('filter_hint')}
                value={query}
                onChange={(event) => setQuery(event.currentTarget.value)}
                className={styles.grow ?? ''}
              />
              <Button
                variant="subtle"
                onClick={() => {
                  heard.current = [];
                  number.current = 0;
                  setShown([]);
                  setCount(0);
                  if (paused !== null) setPaused(0);
                }}
              >
                {t('clear')}
              </Button>
            </Group>
            <Text size="sm" c="dimmed">
              {t('heard', { count })}
              {count > MOST && `, ${t('kept', { count: formatNumber(MOST) })}`}
              {waits > 0 && `, ${t('waiting', { count: waits })}`}
            </Text>
            {stood.length === 0 ? (
              <Text size="sm">{t('quiet')}</Text>
            ) : (
              <div className={styles.frames} data-frames={stood.length}>
                {stood.map((each) => (
                  <Row key={each.n} heard={each} />
                ))}
              </div>
            )}
          </>
        )}
      </Stack>
    </Paper>
  );
}
