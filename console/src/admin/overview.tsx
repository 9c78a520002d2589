/** All kinds of objects with their numbers, changes of the draft, and a search over all. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Button, Group, List, Paper, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQueries } from '@tanstack/react-query';
import { Route, Search } from 'lucide-react';
import { Link } from 'wouter';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { KINDS, SINGLE_KINDS } from '@offhook/contract/config-objects.ts';
import { formatNumber } from '../app/format.ts';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { countQuery, listHref, listPage, objectHref, titleOf, useDraftState } from './data.ts';
import { kindName, kindNames } from './field-words.ts';
import { AREAS } from './layout.ts';
import { Transfer } from './transfer.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './admin.module.css';

const t = wordsOf('admin');

const FOUND = 6;
export function Overview(): ReactNode {
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim().slice(0, 64), 250);
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-end">
        <div>
          <Title order={1} size="h2">
            {t('configuration')}
          </Title>
          <Text c="dimmed" size="sm">
            {t('configuration_lead')}
          </Text>
        </div>
        <Button
          component={Link}
          href={PAGE_PATHS.route_test}
          variant="default"
          leftSection={<Route size={16} aria-hidden />}
        >
          {t('route_test')}
        </Button>
      </Group>
      <TextInput
        aria-label={t('search_all')}
        placeholder={t('search_all')}
        leftSection={<Search size={16} aria-hidden />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        maw={520}
      />
      {q === '' ? <Kinds /> : <Found q={q} />}
      {q === '' && <Transfer />}
    </Stack>
  );
}
function Kinds(): ReactNode {
  const client = useClient();
  const draft = useDraftState();
  const counts = useQueries({
    queries: KINDS.map((kind) => countQuery(client, kind)),
  });
  const failed = counts.find((one) => one.isError);
  const changed = new Map<string, number>();
  for (const { kind } of draft.data?.changes ?? []) changed.set(kind, (changed.get(kind) ?? 0) + 1);
  return (
    <>
      {failed !== undefined && <Failure error={failed.error} onRetry={() => void failed.refetch()} />}
      {AREAS.map(([area, kinds]) => (
        <section key={area} aria-labelledby={area}>
          <Title order={2} size="h5" c="dimmed" mb="xs" id={area}>
            {t(area)}
          </Title>
          <SimpleGrid cols={{ base: 1, xs: 2, md: 3, xl: 6 }} spacing="sm">
            {kinds.map((kind: ConfigKind) => {
              const total = counts[KINDS.indexOf(kind)]?.data?.total;
              const own = changed.get(kind) ?? 0;
              return (
                <Paper
                  key={kind}
                  withBorder
                  component={Link}
                  href={SINGLE_KINDS.has(kind) && total === 1 ? objectHref(kind, 'site') : listHref(kind)}
                  p="sm"
                  className={styles.tile ?? ''}
                >
                  <Text size="sm" fw={600}>
                    {kindNames(kind)}
                  </Text>
                  <Group justify="space-between" gap="xs">
                    {kind === 'feature_code' && total !== undefined ? (
                      <Text size="sm">
                        {total === 0
                          ? t('codes_standard')
                          : t('codes_changed', { number: formatNumber(total) })}
                      </Text>
                    ) : (
                      <Text size="xl" fw={650} className={styles.count ?? ''}>
                        {total === undefined ? '–' : formatNumber(total)}
                      </Text>
                    )}
                    {own > 0 && (
                      <Text size="xs" c="var(--offhook-info)" fw={600}>
                        {t('changed_count', { count: own, number: formatNumber(own) })}
                      </Text>
                    )}
                  </Group>
                </Paper>
              );
            })}
          </SimpleGrid>
        </section>
      ))}
    </>
  );
}
function Found({ q }: { readonly q: string }): ReactNode {
  const client = useClient();
  const found = useQueries({
    queries: KINDS.map((kind) => ({
      queryKey: ['config', 'found', kind, q],
      queryFn: ({ signal }: { signal: AbortSignal }) => listPage(client, kind, { q, limit: FOUND }, signal),
    })),
  });
  const total = found.reduce((sum, one) => sum + (one.data?.total ?? 0), 0);
  const waiting = found.some((one) => one.isPending);
  const failed = found.find((one) => one.isError);
  return (
    <Stack gap="md">
      <Text size="sm" c="dimmed" role="status">
        {waiting
          ? t('searching')
          : total === 0
            ? t('nothing_found')
            : t('found', { count: total, number: formatNumber(total) })}
      </Text>
      {failed !== undefined && <Failure error={failed.error} />}
      {KINDS.map((kind, i) => {
        const data = found[i]?.data;
        if (data === undefined || data.total === 0) return null;
        return (
          <Paper key={kind} withBorder p="md" component="section" aria-labelledby={`found.${kind}`}>
            <Title order={2} size="h5" id={`found.${kind}`} mb={6}>
              {kindNames(kind)}
            </Title>
            <List size="sm" spacing={4} listStyleType="none">
              {data.objects.map((object) => (
                <List.Item key={object.key}>
                  <Anchor
                    component={Link}
                    href={objectHref(kind, object.key)}
                    size="sm"
                    aria-label={`${kindName(kind)} ${object.key}`}
                  >
                    {object.key}
                  </Anchor>
                  {` · ${titleOf(kind, object.object)}`}
                </List.Item>
              ))}
            </List>
            {data.total > data.objects.length && (
              <Text size="xs" c="dimmed" mt={4}>
                {t('and_more', { count: data.total - data.objects.length })}
              </Text>
            )}
          </Paper>
        );
      })}
    </Stack>
  );
}
