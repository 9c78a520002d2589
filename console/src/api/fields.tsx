import type { ReactNode } from 'react';
import { Text } from '@mantine/core';
import { Disclosure, Prose } from './parts.tsx';
import { boundsOf, nameOf, objectsIn, resolved, typeText } from './schema.ts';
import type { Schema, Schemas } from './schema.ts';
import { wordsOf } from '../app/words.ts';
import styles from './api.module.css';

const t = wordsOf('api');

interface FieldProps {
  readonly name: string;
  readonly schema: Schema;
  readonly schemas: Schemas;
  readonly needed: boolean;
  readonly where?: string;
  readonly depth: number;
}
/** Limit of the shown depth of recursive schemas. */
const DEEPEST = 8;

export function Field({ name, schema, schemas, needed, where, depth }: FieldProps): ReactNode {
  const own = resolved(schema, schemas);
  const bounds = boundsOf(own);
  const objects = objectsIn(schema, schemas);
  const values = nameOf(schema) !== null && own.enum !== undefined ? typeText(own) : '';
  return (
    <li className={styles.field}>
      <div className={styles.fieldHead}>
        <code className={styles.fieldName}>{name}</code>
        <span className={styles.type} lang="en">
          {typeText(schema)}
        </span>
        {where !== undefined && <span className={styles.note}>{where}</span>}
        {needed && <span className={styles.needed}>{t('needed')}</span>}
        {bounds.map((bound) => (
          <span key={bound} className={styles.note} lang="en">
            {bound}
          </span>
        ))}
      </div>
      {values !== '' && (
        <Text size="sm" className={styles.type} lang="en">
          {values}
        </Text>
      )}
      {own.description !== undefined && (
        <Text size="sm">
          <Prose>{own.description}</Prose>
        </Text>
      )}
      {objects.length > 0 && (
        <Disclosure head={<Text size="sm">{t('fields_of', { name })}</Text>}>
          {() => (
            <div className={styles.nested}>
              <Objects objects={objects} schemas={schemas} depth={depth + 1} />
            </div>
          )}
        </Disclosure>
      )}
    </li>
  );
}
interface ObjectsProps {
  readonly objects: readonly Schema[];
  readonly schemas: Schemas;
  readonly depth: number;
}
function Objects({ objects, schemas, depth }: ObjectsProps): ReactNode {
  if (depth > DEEPEST) return <Text size="sm">{t('too_deep')}</Text>;
  return objects.map((object, i) => (
    <div key={i}>
      {objects.length > 1 && (
        <Text size="sm" fw={600} mt="xs">
          {t('way', { number: i + 1 })}
        </Text>
      )}
      <ul className={styles.list}>
        {Object.entries(object.properties ?? {}).map(([name, schema]) => (
          <Field
            key={name}
            name={name}
            schema={schema}
            schemas={schemas}
            needed={object.required?.includes(name) ?? false}
            depth={depth}
          />
        ))}
      </ul>
    </div>
  ));
}
/** A schema as a list of fields with expandable nested ones. */
export function SchemaView({
  schema,
  schemas,
}: {
  readonly schema: Schema;
  readonly schemas: Schemas;
}): ReactNode {
  const own = resolved(schema, schemas);
  const objects = objectsIn(schema, schemas);
  return (
    <div>
      <Text size="sm" className={styles.type} lang="en">
        {typeText(schema)}
      </Text>
      {own.description !== undefined && (
        <Text size="sm">
          <Prose>{own.description}</Prose>
        </Text>
      )}
      <Objects objects={objects} schemas={schemas} depth={0} />
    </div>
  );
}
