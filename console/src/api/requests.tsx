import { memo, useEffect, useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Badge, Group, Stack, Text, Title } from '@mantine/core';
import { useSession } from '../app/session.tsx';
import { Catalogue } from './catalogue.tsx';
import { Field, SchemaView } from './fields.tsx';
import { curlOf, filledFirst, operationsOf } from './operations.ts';
import type { OpenApi, Operation } from './operations.ts';
import { Code, Disclosure, Prose } from './parts.tsx';
import { sampleOf } from './schema.ts';
import type { Schema, Schemas } from './schema.ts';
import { TryIt } from './try-it.tsx';
import { decoded } from '../app/decoded.ts';
import { wordsOf } from '../app/words.ts';
import styles from './api.module.css';

const t = wordsOf('api');

const Heading = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <Title order={3} size="h6" mt="sm">
    {children}
  </Title>
);
const Example = ({ schema, schemas }: { readonly schema: Schema; readonly schemas: Schemas }): ReactNode => (
  <Disclosure head={<Text size="sm">{t('example')}</Text>}>
    {() => <Code label={t('example')} text={JSON.stringify(sampleOf(schema, schemas, 'all'), null, 2)} />}
  </Disclosure>
);
function Errors({ errors }: { readonly errors: Operation['errors'] }): ReactNode {
  return (
    <ul className={styles.list}>
      {errors.map(({ status, code, title }) => (
        <li key={code} className={styles.error}>
          <span className={styles.note}>{status}</span>
          <Anchor size="sm" href={`/docs/errors#${code}`} className={styles.mono ?? ''}>
            {code}
          </Anchor>
          <Text size="sm" c="dimmed" lang="en" component="span">
            {title}
          </Text>
        </li>
      ))}
    </ul>
  );
}
interface DetailsProps {
  readonly operation: Operation;
  readonly schemas: Schemas;
}
function Details({ operation, schemas }: DetailsProps): ReactNode {
  const { state } = useSession();
  const [filled, setFilled] = useState(() => filledFirst(operation, schemas));
  const { description, level, scope, parameters, body, replies, errors, upgrade } = operation;
  const keys = scope === null ? t('keys_none') : scope === 'any' ? t('keys_any') : t('keys_scope', { scope });
  return (
    <div className={styles.details}>
      <div className={styles.column}>
        <Group gap="xs">
          <Badge variant="default" className={styles.badge ?? ''}>
            {level === null ? t('public') : t('level', { level })}
          </Badge>
          {level !== null && (
            <Badge variant="default" className={styles.badge ?? ''}>
              {keys}
            </Badge>
          )}
        </Group>
        {description !== '' && (
          <Text size="sm" mt="xs">
            <Prose>{description}</Prose>
          </Text>
        )}
        {parameters.length > 0 && (
          <>
            <Heading>{t('parameters')}</Heading>
            <ul className={styles.list}>
              {parameters.map((parameter) => (
                <Field
                  key={parameter.name}
                  name={parameter.name}
                  schema={
                    parameter.description === undefined
                      ? parameter.schema
                      : { ...parameter.schema, description: parameter.description }
                  }
                  schemas={schemas}
                  needed={parameter.required === true}
                  where={t(parameter.in === 'path' ? 'in_path' : 'in_query')}
                  depth={0}
                />
              ))}
            </ul>
          </>
        )}
        {body !== null && (
          <>
            <Heading>{t('body')}</Heading>
            {body.file ? (
              <Text size="sm">{t('body_file')}</Text>
            ) : (
              <>
                <SchemaView schema={body.schema} schemas={schemas} />
                <Example schema={body.schema} schemas={schemas} />
              </>
            )}
          </>
        )}
        <Heading>{t('replies')}</Heading>
        {replies.map(({ status, text, type, schema }) => (
          <Disclosure
            key={status}
            head={
              <Text size="sm" component="span">
                <b>{status}</b> <span lang="en">{text}</span> {type !== null && <code>{type}</code>}
              </Text>
            }
          >
            {() =>
              schema === null ? (
                <Text size="sm">{t('no_schema')}</Text>
              ) : (
                <div className={styles.nested}>
                  <SchemaView schema={schema} schemas={schemas} />
                  <Example schema={schema} schemas={schemas} />
                </div>
              )
            }
          </Disclosure>
        ))}
        <Heading>{t('errors')}</Heading>
        <Errors errors={errors} />
      </div>
      <div className={styles.column}>
        {state.is === 'in' && !upgrade ? (
          <TryIt operation={operation} schemas={schemas} filled={filled} onFilled={setFilled} />
        ) : (
          <>
            <Text size="sm" c="dimmed" mb="xs">
              {upgrade ? t('websocket') : t('sign_in_to_try')}
            </Text>
            <Code label={t('curl')} text={curlOf(operation, filled, location.origin)} />
          </>
        )}
      </div>
    </div>
  );
}
interface RowProps extends DetailsProps {
  readonly opened: boolean;
  readonly onToggle: (operation: Operation, opened: boolean) => void;
}
const Row = memo(function Row({ operation, schemas, opened, onToggle }: RowProps): ReactNode {
  return (
    <Disclosure
      className={styles.operation}
      id={operation.id}
      opened={opened}
      onToggle={(next) => onToggle(operation, next)}
      head={
        <span className={styles.head}>
          <span className={styles.method} data-method={operation.method}>
            {operation.method}
          </span>
          <span className={styles.path}>{operation.path}</span>
          <span className={styles.summary} lang="en">
            {operation.summary}
          </span>
        </span>
      }
    >
      {() => <Details operation={operation} schemas={schemas} />}
    </Disclosure>
  );
});
const hash = (): string => decoded(location.hash.slice(1));

/** Every request: one group at a time, or the matches of a search in all groups. */
export function Requests({ document }: { readonly document: OpenApi }): ReactNode {
  const operations = useMemo(() => operationsOf(document), [document]);
  const schemas = document.components.schemas ?? {};
  const [opened, setOpened] = useState<ReadonlySet<string>>(() => new Set([hash()]));
  const [first] = useState(
    () => operations.find(({ id }) => id === hash())?.group ?? operations[0]?.group ?? '',
  );
  useEffect(() => window.document.getElementById(hash())?.scrollIntoView(), []);
  const [onToggle] = useState(() => (operation: Operation, open: boolean) => {
    history.replaceState(null, '', open ? `#${operation.id}` : location.pathname);
    setOpened((before) => {
      const next = new Set(before);
      if (open) next.add(operation.id);
      else next.delete(operation.id);
      return next;
    });
  });
  return (
    <Stack gap="md">
      <Catalogue
        items={operations}
        first={first}
        label={t('search_requests')}
        head={(found) => (
          <div role="status" className={styles.found}>
            {found !== null && found > 0 && (
              <Text size="sm" c="dimmed">
                {t('found', { count: found })}
              </Text>
            )}
          </div>
        )}
        sectionOf={(each) => [each.group, each.part].filter(Boolean).join(' / ')}
        row={(operation) => (
          <Row
            key={operation.id}
            operation={operation}
            schemas={schemas}
            opened={opened.has(operation.id)}
            onToggle={onToggle}
          />
        )}
      />
    </Stack>
  );
}
