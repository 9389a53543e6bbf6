//! Plural forms of counted texts.

use serde::Deserialize;

/// Rule by which a language chooses the form for a whole number: CLDR 46,
/// `common/supplemental/plurals.xml`, cardinal numbers. The form for whole millions (`many` of
/// Spanish, French, Italian and Portuguese) is left out: nothing here is counted that far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rule {
    /// Chinese and Japanese.
    #[default]
    Alike,
    /// German, English, Spanish, Italian, Dutch and Turkish.
    OneOther,
    /// French and Portuguese, where nothing is counted like one.
    ZeroAsOne,
    Polish,
    Arabic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    Zero,
    One,
    Two,
    Few,
    Many,
    Other,
}

impl Rule {
    const fn category(self, count: u64) -> Category {
        match (self, count) {
            (Self::OneOther | Self::Polish | Self::Arabic, 1) | (Self::ZeroAsOne, 0 | 1) => {
                Category::One
            }
            (Self::Alike | Self::OneOther | Self::ZeroAsOne, _) => Category::Other,
            (Self::Polish, _) => match (count % 10, count % 100) {
                (_, 12..=14) => Category::Many,
                (2..=4, _) => Category::Few,
                _ => Category::Many,
            },
            (Self::Arabic, 0) => Category::Zero,
            (Self::Arabic, 2) => Category::Two,
            (Self::Arabic, _) => match count % 100 {
                3..=10 => Category::Few,
                11..=99 => Category::Many,
                _ => Category::Other,
            },
        }
    }
}

/// A text with a form for each category of its language. A language that lacks one, or has one that
/// no number chooses, fails its test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    zero: Option<&'static str>,
    one: Option<&'static str>,
    two: Option<&'static str>,
    few: Option<&'static str>,
    many: Option<&'static str>,
    other: Option<&'static str>,
}

impl Counted {
    const fn get(&self, category: Category) -> Option<&'static str> {
        match category {
            Category::Zero => self.zero,
            Category::One => self.one,
            Category::Two => self.two,
            Category::Few => self.few,
            Category::Many => self.many,
            Category::Other => self.other,
        }
    }

    pub fn form(&self, rule: Rule, count: u64) -> &'static str {
        self.get(rule.category(count)).unwrap_or_default()
    }

    #[cfg(test)]
    pub fn forms(&self) -> Vec<(Category, &'static str)> {
        let all = [
            Category::Zero,
            Category::One,
            Category::Two,
            Category::Few,
            Category::Many,
            Category::Other,
        ];
        all.into_iter().filter_map(|one| Some((one, self.get(one)?))).collect()
    }
}

#[cfg(test)]
impl Rule {
    /// The categories that whole numbers choose, in the order of CLDR.
    pub fn categories(self) -> Vec<Category> {
        use Category::{Few, Many, One, Other, Two, Zero};
        match self {
            Self::Alike => vec![Other],
            Self::OneOther | Self::ZeroAsOne => vec![One, Other],
            Self::Polish => vec![One, Few, Many],
            Self::Arabic => vec![Zero, One, Two, Few, Many, Other],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Category::{Few, Many, One, Other, Two, Zero},
        *,
    };

    #[test]
    fn numbers_choose_the_categories_of_cldr() {
        for (rule, category, counts) in [
            (Rule::Alike, Other, &[0, 1, 2, 11, 100][..]),
            (Rule::OneOther, One, &[1]),
            (Rule::OneOther, Other, &[0, 2, 11, 21, 101]),
            (Rule::ZeroAsOne, One, &[0, 1]),
            (Rule::ZeroAsOne, Other, &[2, 11, 21, 100, 101]),
            (Rule::Polish, One, &[1]),
            (Rule::Polish, Few, &[2, 3, 4, 22, 24, 32, 102, 1002]),
            (Rule::Polish, Many, &[0, 5, 11, 12, 13, 14, 19, 21, 25, 100, 101, 112, 1000]),
            (Rule::Arabic, Zero, &[0]),
            (Rule::Arabic, One, &[1]),
            (Rule::Arabic, Two, &[2]),
            (Rule::Arabic, Few, &[3, 10, 103, 110, 1003]),
            (Rule::Arabic, Many, &[11, 26, 99, 111, 1011]),
            (Rule::Arabic, Other, &[100, 102, 200, 202, 1000]),
        ] {
            assert!(rule.categories().contains(&category));
            for count in counts {
                assert_eq!(rule.category(*count), category, "{rule:?} {count}");
            }
        }
    }

    #[test]
    fn every_number_has_one_of_the_categories_that_texts_must_have() {
        for rule in [Rule::Alike, Rule::OneOther, Rule::ZeroAsOne, Rule::Polish, Rule::Arabic] {
            let mut chosen: Vec<Category> = Vec::new();
            for category in (0..=1000).map(|count| rule.category(count)) {
                if !chosen.contains(&category) {
                    chosen.push(category);
                }
            }
            let wanted = rule.categories();
            assert_eq!(chosen.len(), wanted.len(), "{rule:?} {chosen:?}");
            assert!(wanted.iter().all(|one| chosen.contains(one)), "{rule:?} {chosen:?}");
        }
    }
}
