pragma user_version=1;
CREATE TABLE journal (
  seq integer primary key, type text not null, subject text not null, at integer not null, json text not null,
  topics text not null default ''
);
CREATE TABLE meta (key text primary key, value text not null) without rowid;
