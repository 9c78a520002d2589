import { useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Button, Container, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { LanguageSwitch } from '../app/preferences.tsx';
import { useSession } from '../app/session.tsx';
import { SignInPage } from '../app/sign-in.tsx';
import { Boundary, Read } from '../app/states.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { EventList } from './event-list.tsx';
import type { AsyncApi } from './events.ts';
import type { OpenApi } from './operations.ts';
import { Requests } from './requests.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './api.module.css';

const t = wordsOf('api');

const OPENAPI = '/api/v1/openapi.json';
const ASYNCAPI = '/api/v1/asyncapi.json';
async function read<T>(url: string, signal: AbortSignal): Promise<T> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new TypeError(`${url}: ${response.status}`);
  return (await response.json()) as T;
}
/** A document is constant while the service runs, and too large to be compared. */
function useDocument<T>(url: string) {
  return useQuery({
    queryKey: ['document', url],
    queryFn: async ({ signal }) => await read<T>(url, signal),
    staleTime: Infinity,
    structuralSharing: false,
  });
}
interface WithProps<T> {
  readonly url: string;
  readonly children: (document: T) => ReactNode;
}
function With<T>({ url, children }: WithProps<T>): ReactNode {
  return <Read of={useDocument<T>(url)}>{children}</Read>;
}
type Tab = 'requests' | 'events';
function Content(): ReactNode {
  const [tab, setTab] = useState<Tab>('requests');
  const { data } = useDocument<OpenApi>(OPENAPI);
  return (
    <Stack gap="md">
      <Group justify="space-between" align="end">
        <div>
          <Group gap="sm" align="baseline">
            <Title order={1} size="h2">
              {t('title')}
            </Title>
            {data && (
              <Text size="sm" c="dimmed">
                {t('version', { version: data.info.version })}
              </Text>
            )}
          </Group>
          <Text size="sm" c="dimmed">
            {t('lead')}
            <Anchor href={OPENAPI} size="sm" underline="always">
              OpenAPI
            </Anchor>
            {', '}
            <Anchor href={ASYNCAPI} size="sm" underline="always">
              AsyncAPI
            </Anchor>
            {' · '}
            <Anchor href="/docs/errors" size="sm" underline="always">
              {t('all_errors')}
            </Anchor>
            {' · '}
            <Anchor href="/docs/events" size="sm" underline="always">
              {t('all_events')}
            </Anchor>
          </Text>
        </div>
        <SegmentedControl<Tab>
          value={tab}
          onChange={setTab}
          aria-label={t('title')}
          data={[
            { value: 'requests', label: t('requests') },
            { value: 'events', label: t('events') },
          ]}
        />
      </Group>
      {tab === 'requests' ? (
        <With<OpenApi> url={OPENAPI}>{(document) => <Requests document={document} />}</With>
      ) : (
        <With<AsyncApi> url={ASYNCAPI}>{(document) => <EventList document={document} />}</With>
      )}
    </Stack>
  );
}
/** Documents of the API; sending requests needs a session. */
export function ApiPage(): ReactNode {
  const { state, siteTitle } = useSession();
  const [signsIn, setSignsIn] = useState(false);
  if (state.is !== 'out') return <Content />;
  if (signsIn) return <SignInPage />;
  return (
    <>
      <header className={styles.bar}>
        <Anchor component={Link} href={PAGE_PATHS.home} underline="never" c="inherit">
          <Group gap="sm" wrap="nowrap">
            <img src="/favicon.svg" width={28} height={28} alt="" />
            <Text fw={700}>{siteTitle}</Text>
          </Group>
        </Anchor>
        <Group gap="sm" wrap="nowrap">
          <LanguageSwitch />
          <Button onClick={() => setSignsIn(true)}>{t('sign_in_to_try')}</Button>
        </Group>
      </header>
      <Container component="main" size="xl" py="md">
        <Boundary>
          <Content />
        </Boundary>
      </Container>
    </>
  );
}
