import { useDeferredValue, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { Badge, Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { Search } from 'lucide-react';
import { useSession } from '../app/session.tsx';
import { Empty } from '../app/states.tsx';
import { messagesOf, topicsOf } from './events.ts';
import type { AsyncApi, Message } from './events.ts';
import { SchemaView } from './fields.tsx';
import { LiveEvents } from './live-events.tsx';
import { found } from './operations.ts';
import { Code, Disclosure, Groups } from './parts.tsx';
import { sampleOf } from './schema.ts';
import type { Schemas } from './schema.ts';
import { t } from './words.ts';
import styles from './api.module.css';

interface MessageProps {
  readonly message: Message;
  readonly schemas: Schemas;
}
const MessageRow = ({ message, schemas }: MessageProps): ReactNode => (
  <Disclosure
    className={styles.operation}
    id={message.name}
    head={
      <span className={styles.head}>
        <span className={styles.path}>{message.name}</span>
        <span className={styles.summary} lang="en">
          {message.summary}
        </span>
      </span>
    }
  >
    {() => (
      <div className={styles.column}>
        {message.topics.length > 0 && (
          <Group gap="xs" mb="xs">
            <Text size="sm">{t('told_on')}</Text>
            {message.topics.map((topic) => (
              <Badge key={topic} variant="default" className={styles.badge ?? ''}>
                {topic}
              </Badge>
            ))}
          </Group>
        )}
        {message.event && (
          <Title order={4} size="h6">
            {t('fields_of', { name: t('data') })}
          </Title>
        )}
        <SchemaView schema={message.schema} schemas={schemas} />
        <Disclosure head={<Text size="sm">{t('example')}</Text>}>
          {() => (
            <Code
              label={t('example')}
              text={JSON.stringify(sampleOf(message.schema, schemas, 'all'), null, 2)}
            />
          )}
        </Disclosure>
      </div>
    )}
  </Disclosure>
);

/** Every event and frame, with a window on what happens now. */
export function EventList({ document }: { readonly document: AsyncApi }): ReactNode {
  const { state } = useSession();
  const messages = useMemo(() => messagesOf(document), [document]);
  const schemas = document.components.schemas ?? {};
  const topics = topicsOf(document)
    .map(({ address }) => address)
    .filter((address) => !address.includes('{'));
  const [group, setGroup] = useState('call');
  const [query, setQuery] = useState('');
  const wanted = useDeferredValue(query);
  const searching = wanted.trim() !== '';
  const shown = useMemo(
    () => (searching ? found(messages, wanted) : messages.filter((each) => each.group === group)),
    [messages, searching, wanted, group],
  );
  const groups = useMemo(() => {
    const counts = Map.groupBy(searching ? shown : messages, (each) => each.group);
    return [...counts].map(([name, own]) => ({ name, count: own.length }));
  }, [messages, shown, searching]);
  return (
    <Stack gap="md">
      {state.is === 'in' && <LiveEvents topics={topics} />}
      <TextInput
        type="search"
        aria-label={t('search_events')}
        placeholder={t('search_events')}
        leftSection={<Search size={16} aria-hidden />}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
      />
      <div className={styles.panes}>
        <Groups
          groups={groups}
          value={searching ? null : group}
          onChange={(next) => {
            setQuery('');
            setGroup(next);
          }}
        />
        <Stack gap="md" miw={0}>
          {schemas.Envelope !== undefined && !searching && (
            <Disclosure head={<Text size="sm">{t('envelope')}</Text>}>
              {() => (
                <div className={styles.nested}>
                  <SchemaView schema={{ $ref: '#/components/schemas/Envelope' }} schemas={schemas} />
                </div>
              )}
            </Disclosure>
          )}
          {shown.length === 0 && <Empty title={t('none_found')} />}
          {[...Map.groupBy(shown, (each) => each.group)].map(([name, own]) => (
            <section key={name} aria-label={name}>
              <Title order={3} size="h5" mb={6} lang="en">
                {name}
              </Title>
              <Paper withBorder className={styles.operations ?? ''}>
                {own.map((message) => (
                  <MessageRow key={message.name} message={message} schemas={schemas} />
                ))}
              </Paper>
            </section>
          ))}
        </Stack>
      </div>
    </Stack>
  );
}
