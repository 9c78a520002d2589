/** Shows unapplied changes and a running apply on every page of the administration, and keeps their queries fresh. */
import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Button, Group, Loader, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ConfigApply, ConfigSnapshot } from '@offhook/contract/config-applies.ts';
import type { z } from 'zod';
import { FilePenLine } from 'lucide-react';
import { Link, useLocation } from 'wouter';
import { formatNumber } from '../app/format.ts';
import { PAGE_PATHS } from '../app/paths.ts';
import { useStream } from '../app/use-stream.ts';
import { useDraftState } from './data.ts';
import { wordsOf } from '../app/words.ts';
import styles from './admin.module.css';

const t = wordsOf('admin');

const SOON_MS = 300;
const RUNNING = ['config', 'running'];
const applyHref = (id: number): string => PAGE_PATHS.apply.replace(':apply', String(id));

/** Passes the topic `config` to the query cache, from which the pages render. */
function useConfigTopic(): void {
  const queries = useQueryClient();
  const renew = (forms: 'active' | 'none' = 'active'): void => {
    void queries.invalidateQueries({
      queryKey: ['config'],
      predicate: ({ queryKey: [, part] }) => part !== 'running' && part !== 'object',
    });
    void queries.invalidateQueries({ queryKey: ['config', 'object'], refetchType: forms });
  };
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  /**
   * A program may change hundreds of objects one after the other. A form that is being saved would take its own change for that of
   * another person, so an open form finds changes of others when it is saved.
   */
  const renewSoon = (): void => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      renew('none');
    }, SOON_MS);
  };
  const take = (apply: ConfigApply): void => {
    queries.setQueryData(['config', 'apply', apply.id], { success: true, apply });
    queries.setQueryData(RUNNING, apply.finished_at === null ? apply : null);
  };
  useStream('config', {
    snapshot: true,
    onItem(item) {
      if (item.type === 'snapshot') {
        const { apply } = (item as { data: unknown }).data as z.infer<typeof ConfigSnapshot>;
        queries.setQueryData(RUNNING, apply);
        if (apply !== null) take(apply);
        // A change between the page's first requests and this subscription is in neither.
        renew();
      } else if (item.type === 'config.progress') {
        const { apply } = (item as { data: { apply: ConfigApply } }).data;
        take(apply);
        if (apply.finished_at !== null) renew();
      } else if (item.type === 'config.drift') renew();
      else if (item.type === 'config.draft_changed') renewSoon();
    },
  });
}
export function DraftBar(): ReactNode {
  useConfigTopic();
  const [location] = useLocation();
  const draft = useDraftState();
  const { data: running } = useQuery<ConfigApply | null>({
    queryKey: RUNNING,
    queryFn: () => null,
    enabled: false,
    initialData: null,
  });
  const total = draft.data?.total ?? 0;
  const shown = running !== null || total > 0;
  return (
    <div role="status" className={shown ? styles.bar : undefined}>
      {running !== null ? (
        <Group gap="sm" justify="space-between">
          <Group gap="xs">
            <Loader size={16} aria-hidden />
            <Text size="sm" fw={600}>
              {t('bar_applying', { state: t(`state_${running.state}`) })}
            </Text>
          </Group>
          {location !== applyHref(running.id) && (
            <Anchor component={Link} href={applyHref(running.id)} size="sm" fw={600}>
              {t('bar_watch')}
            </Anchor>
          )}
        </Group>
      ) : (
        total > 0 && (
          <Group gap="sm" justify="space-between">
            <Group gap="xs">
              <FilePenLine size={16} aria-hidden />
              <Text size="sm" fw={600}>
                {t('bar_changes', { count: total, number: formatNumber(total) })}
              </Text>
            </Group>
            {location !== PAGE_PATHS.changes && (
              <Button component={Link} href={PAGE_PATHS.changes} size="xs">
                {t('bar_review')}
              </Button>
            )}
          </Group>
        )
      )}
    </div>
  );
}
