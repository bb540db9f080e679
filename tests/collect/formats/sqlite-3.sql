create table meta (key text primary key, value text not null) strict;
create table surveys (
    number integer primary key autoincrement,
    fingerprint text not null unique,
    document text not null,
    state text not null,
    first_day integer not null,
    changes integer not null default 0
) strict;
create table series (
    number integer primary key autoincrement,
    survey integer not null,
    question text not null,
    segment text
) strict;
create index series_of_survey on series (survey, question);
create table ids (
    survey integer not null,
    id blob not null,
    day integer not null,
    primary key (survey, id)
) strict, without rowid;
create table recent_ids (
    number integer primary key autoincrement,
    survey integer not null,
    day integer not null,
    ids blob not null
) strict;
create table recent (
    number integer primary key autoincrement,
    series integer not null,
    day integer not null,
    n integer not null,
    reports blob not null,
    crc integer not null
) strict;
create index recent_of_series on recent (series, day);
create table counts (
    series integer not null,
    day integer not null,
    n integer not null,
    cells blob not null,
    crc integer not null,
    primary key (series, day)
) strict;
create table kept (
    number integer primary key autoincrement,
    series integer not null,
    day integer not null,
    n integer not null,
    reports blob not null,
    crc integer not null
) strict;
create index kept_of_series on kept (series, day);
create table tokens (
    name text primary key,
    digest blob not null,
    scope text not null,
    surveys text not null
) strict;
insert into meta values ('format', '3');
insert into surveys (number, fingerprint, document, state, first_day) values (1, '7d96418e95d74956972dccbf7f7c072e1989ca98a9edffa0f9ec90a4bed7dc09', '{
  "murmurs": 1,
  "name": "kept",
  "version": 1,
  "questions": [
    {
      "name": "hot",
      "text": "",
      "labels": [
        "yes",
        "no"
      ],
      "mechanism": {
        "name": "KRR",
        "k": 2,
        "epsilon": 1.0,
        "truth": 4162381314475385
      }
    },
    {
      "name": "age",
      "text": "",
      "labels": [
        "young",
        "old"
      ],
      "mechanism": {
        "name": "KRR",
        "k": 2,
        "epsilon": 1.0,
        "truth": 4162381314475385
      }
    },
    {
      "name": "pet",
      "text": "",
      "labels": [],
      "mechanism": {
        "name": "ORR",
        "epsilon": 2.0,
        "width": 4,
        "cohorts": 2,
        "salt": 0,
        "truth": 5539242524516729
      }
    }
  ],
  "joint": [
    {
      "name": "age+pet",
      "questions": [
        "age",
        "pet"
      ]
    }
  ],
  "segments": [
    "north",
    "south"
  ]
}
', 'closed', 20000);
insert into series (number, survey, question, segment) values (1, 1, 'hot', 'north');
insert into series (number, survey, question, segment) values (2, 1, 'hot', 'south');
insert into series (number, survey, question, segment) values (3, 1, 'age+pet', 'north');
insert into series (number, survey, question, segment) values (4, 1, 'age+pet', 'south');
insert into ids (survey, id, day) values (1, x'00000000000000000000000000000000', 20000);
insert into ids (survey, id, day) values (1, x'01010101010101010101010101010101', 20001);
insert into ids (survey, id, day) values (1, x'02020202020202020202020202020202', 20000);
insert into ids (survey, id, day) values (1, x'03030303030303030303030303030303', 20001);
insert into recent (number, series, day, n, reports, crc) values (5, 1, 20000, 3, x'000100', 1898646095);
insert into recent (number, series, day, n, reports, crc) values (6, 3, 20000, 3, x'000201070102', -1487692007);
insert into recent (number, series, day, n, reports, crc) values (7, 2, 20001, 3, x'010100', 346017251);
insert into recent (number, series, day, n, reports, crc) values (8, 4, 20001, 3, x'000301070102', 943291217);
insert into recent (number, series, day, n, reports, crc) values (9, 1, 20001, 96, x'000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100000100', 1217310591);
insert into recent (number, series, day, n, reports, crc) values (10, 3, 20001, 96, x'000401070102000601070102000001070102000201070102000401070102000601070102000001070102000201070102000401070102000601070102000001070102000201070102000401070102000601070102000001070102000201070102000401070102000601070102000001070102000201070102000401070102000601070102000001070102000201070102000401070102000601070102000001070102000201070102000401070102000601070102000001070102000201070102', -1546906681);
insert into recent (number, series, day, n, reports, crc) values (11, 2, 20001, 96, x'010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100010100', 599312314);
insert into recent (number, series, day, n, reports, crc) values (12, 4, 20001, 96, x'000501070102000701070102000101070102000301070102000501070102000701070102000101070102000301070102000501070102000701070102000101070102000301070102000501070102000701070102000101070102000301070102000501070102000701070102000101070102000301070102000501070102000701070102000101070102000301070102000501070102000701070102000101070102000301070102000501070102000701070102000101070102000301070102', -207481688);
insert into counts (series, day, n, cells, crc) values (1, 20000, 3, x'0201', -1479289632);
insert into counts (series, day, n, cells, crc) values (2, 20001, 3, x'0102', 150113664);
insert into counts (series, day, n, cells, crc) values (3, 20000, 3, x'01000000000001000000000000000001', -920240298);
insert into counts (series, day, n, cells, crc) values (4, 20001, 3, x'00010000000001000000000000000001', -716012590);
insert into kept (number, series, day, n, reports, crc) values (1, 3, 20000, 3, x'000001020107', -1422722531);
insert into kept (number, series, day, n, reports, crc) values (2, 4, 20001, 3, x'000101020107', 878190165);
insert into tokens (name, digest, scope, surveys) values ('dashboard', x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', 'read', '["kept"]');
insert into recent_ids (number, survey, day, ids) values (1, 1, 20001, x'0404040404040404040404040404040405050505050505050505050505050505060606060606060606060606060606060707070707070707070707070707070708080808080808080808080808080808090909090909090909090909090909090a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f101010101010101010101010101010101111111111111111111111111111111112121212121212121212121212121212131313131313131313131313131313131414141414141414141414141414141415151515151515151515151515151515161616161616161616161616161616161717171717171717171717171717171718181818181818181818181818181818191919191919191919191919191919191a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f202020202020202020202020202020202121212121212121212121212121212122222222222222222222222222222222232323232323232323232323232323232424242424242424242424242424242425252525252525252525252525252525262626262626262626262626262626262727272727272727272727272727272728282828282828282828282828282828292929292929292929292929292929292a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f303030303030303030303030303030303131313131313131313131313131313132323232323232323232323232323232333333333333333333333333333333333434343434343434343434343434343435353535353535353535353535353535363636363636363636363636363636363737373737373737373737373737373738383838383838383838383838383838393939393939393939393939393939393a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3b3b3b3b3b3b3b3b3b3b3b3b3b3b3b3b3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f40404040404040404040404040404040414141414141414141414141414141414242424242424242424242424242424243434343434343434343434343434343');
