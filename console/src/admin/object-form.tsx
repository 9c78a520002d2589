/** The form of one object: its fields in groups, its secrets, errors, and changes by others. */
import { useEffect, useRef } from 'react';
import type { ReactNode, RefObject } from 'react';
import { Anchor, Button, Group, List, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { OffhookError } from '@offhook/client';
import type { Problem } from '@offhook/contract/errors.ts';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { Link } from 'wouter';
import { Failure } from '../app/states.tsx';
import { countQuery, nameHref } from './data.ts';
import { useClient } from '../app/session.tsx';
import { fieldLabel, groupName, kindName, pathLabel } from './field-words.ts';
import { FormContext, focusField } from './form-context.ts';
import { FieldGrid } from './inputs.tsx';
import { mistakeText } from './mistakes.tsx';
import { LAYOUTS } from './layout.ts';
import { formOf } from './schema.ts';
import type { Field } from './schema.ts';
import { SecretInput } from './secret-input.tsx';
import type { ObjectForm } from './use-object-form.ts';
import { Value } from './value.tsx';
import { Note } from './tone.tsx';
import { wordsOf } from '../app/words.ts';
import styles from './admin.module.css';

const t = wordsOf('admin');

interface ObjectFormProps {
  readonly kind: ConfigKind;
  readonly isNew: boolean;
  readonly form: ObjectForm;
  readonly secretsSet: readonly string[];
  /** Field of the key, which cannot change later. */
  readonly keyField: string;
  readonly onSave: () => void;
  /** Shown beside the save button. */
  readonly children?: ReactNode;
}
/** True if the site has further engines or the object names one; otherwise forms hide the fields of engines. */
function useHomes({ values, mistakes }: ObjectForm): boolean {
  const client = useClient();
  const { data } = useQuery(countQuery(client, 'engine'));
  return (data?.total ?? 0) > 0 || values['engine'] != null || mistakes.some(({ path }) => path === 'engine');
}
export function ObjectFields({
  kind,
  isNew,
  form,
  secretsSet,
  keyField,
  onSave,
  children,
}: ObjectFormProps): ReactNode {
  const homes = useHomes(form);
  const fields = new Map(
    formOf(kind)
      .filter(({ shape }) => homes || shape.is !== 'reference' || shape.kind !== 'engine')
      .map((field) => [field.name, field]),
  );
  return (
    <FormContext value={{ kind, isNew, mistakes: form.mistakes }}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          onSave();
        }}
      >
        <Stack gap="md">
          {form.restored && form.dirty && (
            <Note tone="info" title={t('restored')}>
              <Button size="xs" variant="default" onClick={form.undo}>
                {t('throw_away')}
              </Button>
            </Note>
          )}
          <ConflictNotice kind={kind} form={form} />
          <Mistakes kind={kind} form={form} />
          {LAYOUTS[kind].groups.map(([group, ...names]) => {
            const shown = names.flatMap((name): Field[] => {
              const field = fields.get(name);
              return field === undefined || (!isNew && name === keyField) ? [] : [field];
            });
            const plain = shown.filter((f) => f.shape.is !== 'secret');
            if (shown.length === 0) return null;
            return (
              <Paper key={group} withBorder p="md" component="section" aria-labelledby={`group.${group}`}>
                <Title order={2} size="h4" mb="sm" id={`group.${group}`}>
                  {groupName(group)}
                </Title>
                <FieldGrid fields={plain} path="" values={form.values} onChange={form.change} />
                {shown
                  .filter((f) => f.shape.is === 'secret')
                  .map((field) => (
                    <SecretInput
                      key={field.name}
                      name={field.name}
                      isSet={secretsSet.includes(field.name)}
                      wish={form.secrets[field.name] ?? null}
                      onWish={(wish) => form.setSecret(field.name, wish)}
                    />
                  ))}
              </Paper>
            );
          })}
          <Group className={styles.actions ?? ''} gap="sm">
            <Button type="submit" loading={form.busy} disabled={!isNew && !form.dirty}>
              {t(isNew ? 'create' : 'save')}
            </Button>
            {form.dirty && (
              <Button variant="default" onClick={form.undo}>
                {t('undo')}
              </Button>
            )}
            {children}
          </Group>
        </Stack>
      </form>
    </FormContext>
  );
}

/** For an element that is drawn above the fields: it is scrolled into view, because *Save* is below them. */
function useSeen(what: unknown): RefObject<HTMLDivElement | null> {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (what !== null) element.current?.scrollIntoView({ block: 'center' });
  }, [what]);
  return element;
}
function Mistakes({ kind, form }: { readonly kind: ConfigKind; readonly form: ObjectForm }): ReactNode {
  const { mistakes, error } = form;
  const failure = useSeen(error);
  const findings = error instanceof OffhookError ? (error.problem?.findings ?? []) : [];
  const others = findings.filter(
    (f) => f.kind !== kind || !mistakes.some((m) => m.path === f.path && m.detail === f.detail),
  );
  if (mistakes.length === 0 && error === null) return null;
  if (form.conflict !== null && mistakes.length === 0) return null;
  if (mistakes.length === 0 && others.length === 0)
    return (
      <div ref={failure}>
        <Failure error={error} />
      </div>
    );
  return (
    <Note role="alert" tone="alert" title={t('not_saved')}>
      <List size="sm" spacing={4}>
        {mistakes.map((mistake, i) => (
          <List.Item key={`${mistake.path}/${i}`}>
            <Anchor component="button" type="button" size="sm" onClick={() => focusField(mistake.path)}>
              {pathLabel(kind, mistake.path) || kindName(kind)}
            </Anchor>
            {': '}
            {mistakeText(mistake)}
          </List.Item>
        ))}
        {others.map((finding, i) => (
          <List.Item key={`${finding.kind}/${finding.key}/${i}`}>
            <FindingText finding={finding} />
          </List.Item>
        ))}
      </List>
    </Note>
  );
}
/** Object, path and text of a finding. */
export const FindingText = ({
  finding,
}: {
  readonly finding: NonNullable<Problem['findings']>[number];
}): ReactNode => (
  <>
    <ObjectLink kind={finding.kind} name={finding.key} />
    {finding.path !== '' && ` › ${pathLabel(finding.kind, finding.path)}`}
    {`: ${finding.detail}`}
  </>
);
/** `Queue support`, as a link if it has a page. */
export function ObjectLink({ kind, name }: { readonly kind: string; readonly name: string }): ReactNode {
  const href = nameHref(kind, name);
  const label = `${kindName(kind)} ${name}`;
  return href === null ? (
    <>{label}</>
  ) : (
    <Anchor component={Link} href={href} size="sm" underline="always">
      {label}
    </Anchor>
  );
}

function ConflictNotice({ kind, form }: { readonly kind: ConfigKind; readonly form: ObjectForm }): ReactNode {
  const { conflict } = form;
  const notice = useSeen(conflict);
  if (conflict === null) return null;
  return (
    <Note ref={notice} role="alert" tone="warn" title={t('conflict')}>
      <Text size="sm">{t('conflict_text')}</Text>
      <List size="sm" my="xs">
        {[...conflict.both, ...conflict.theirs].map((name) => (
          <List.Item key={name}>
            <Text span inherit fw={600}>
              {fieldLabel(kind, name)}
            </Text>
            {conflict.both.includes(name) && ` (${t('conflict_both')})`}
            {': '}
            <Value kind={kind} name={name} value={conflict.current.object[name]} />
          </List.Item>
        ))}
      </List>
      <Group gap="xs">
        <Button size="xs" onClick={form.keepMine}>
          {t('keep_mine')}
        </Button>
        <Button size="xs" variant="default" onClick={form.takeTheirs}>
          {t('take_theirs')}
        </Button>
      </Group>
    </Note>
  );
}
