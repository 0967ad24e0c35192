"""Families of traits by the stems of their names: what stands for EFO parents without a mapping.

The families follow the parents that the GWAS Catalog uses, somewhat finer for measurements. A name
may fall into several families, or into none.
"""

import re

__all__ = ["families"]

_STEMS = {
    "cancer": (
        "cancer|carcinoma|lymphoma|leuka?emia|melanoma|neoplasm|gliom|glioblastoma|tumou?r|"
        "sarcoma|myeloma|neuroblastoma"
    ),
    "immune system disorder": (
        "crohn|colitis|inflammatory bowel|co?eliac|psoria|rheumatoid|lupus|"
        "multiple sclerosis|type (1|i) diabetes|asthma|allerg|atopi|eczema|dermatitis|"
        "vitiligo|alopecia areata|ankylosing|graves|beh[cç]et|kawasaki|sarcoidosis|"
        "biliary cirrhosis|cholangitis|autoimmun|autoantibod|iga nephropathy|scleroderma|"
        "systemic sclerosis|myasthenia|juvenile idiopathic"
    ),
    "neurological or mental disorder": (
        "schizophreni|bipolar|depress|autis|attention deficit|alzheimer|parkinson|epilep|"
        "migraine|dementia|amyotrophic|anorexia|panic|anxiety|obsessive|tourette|"
        "restless leg|narcolep|essential tremor|suicid|conduct disorder|dyslexia|psychosis"
    ),
    "behaviour or cognition": (
        "alcohol|smok|nicotine|cocaine|heroin|cannabis|addict|dependence|cognit|intelligence|"
        "personality|temperament|educational|memory|reading and spelling|coffee|caffeine|"
        "drinking"
    ),
    "cardiovascular disease": (
        "coronary|myocardial|atrial fibrillation|heart failure|heart disease|stroke|"
        "hypertension|aneurysm|thrombo(?!cyt)|cardiomyopath|peripheral arter|cardiac arrest|"
        "atherosclero|cardiovascular disease"
    ),
    "cardiovascular measurement": (
        r"blood pressure|\bqt\b|\bqrs\b|pr interval|heart rate|cardiac|electrocardio|"
        "echocardio|intima|ventric|pulse|arterial stiff"
    ),
    "metabolic disorder": (
        "type (2|ii) diabetes|diabetes mellitus|gestational|metabolic syndrome|obesity|gout|"
        "fatty liver"
    ),
    "lipid measurement": (r"cholesterol|triglycerid|\bhdl|\bldl|lipid|lipoprotein|fatty acid"),
    "glycaemic or metabolite measurement": (
        "glucose|insulin|hba1c|glycated|glycemic|homa|metabolite|metabolic trait|adiponectin|"
        "leptin|homocysteine|vitamin|carotenoid|amino acid|magnesium|iron|ferritin|"
        "transferrin|calcium|selenium|zinc"
    ),
    "body measurement": (
        r"body mass|\bbmi\b|\bheight|\bweight|waist|\bhip\b|obesity|adipos|body fat|"
        "fat distribution|anthropometric|circumference|lean"
    ),
    "haematological measurement": (
        "ha?emoglobin|platelet|erythrocyte|red blood|white blood|leukocyte|neutrophil|"
        "monocyte|lymphocyte|eosinophil|basophil|ha?ematocrit|ha?ematolog|corpuscular|"
        "fibrinogen|coagulation|prothrombin|factor vii|willebrand|d-dimer"
    ),
    "inflammatory measurement": (
        r"c-reactive|interleukin|\bil-?[0-9]|cytokine|tnf|immunoglobulin|\big[aegm]\b|"
        r"selectin|\bicam|complement|chemokine|mcp-?1|phospholipase"
    ),
    "liver measurement": (
        "liver enzyme|glutamyl|aminotransferase|alkaline phosphatase|bilirubin|albumin|"
        "butyrylcholinesterase"
    ),
    "kidney trait": (
        "creatinine|glomerular|renal|kidney|nephro|ur(ic acid|ate)|urinary|cystatin|albuminuria"
    ),
    "lung trait": (r"lung function|\bfev|pulmonary|\bcopd\b|airflow|expiratory|emphysema"),
    "eye trait": (r"glaucoma|macular|myopi|optic|refracti|corneal|intraocular|\beye"),
    "bone or joint trait": ("bone|osteo|fracture|cartilage"),
    "skin or hair trait": ("hair|skin|pigment|tanning|freckl|na?evus|eye color|baldness|sunburn"),
    "brain measurement": ("brain|cortical|hippocamp|white matter|cerebr|caudate"),
    "reproductive trait": (
        "menarche|menopaus|endometrio|polycystic|testosterone|estradiol|sex hormone|puberty|"
        "fertil|prolactin|preeclampsia"
    ),
    "infection": (
        r"\bhiv|\baids|hepatitis|malaria|tubercul|leprosy|infect|virus|sepsis|trypanosoma|"
        "seropositiv"
    ),
    "response to treatment": (
        "respons?e to|reponse to|chemotherap|toxicity|adverse|drug-induced|treatment"
    ),
}
_PATTERNS = {family: re.compile(stems) for family, stems in _STEMS.items()}


def families(text: str) -> frozenset[str]:
    """Return the families that the names of a trait fall into.

    Args:
        text: the reported name and the mapped terms, in lower case.
    """
    return frozenset(family for family, stems in _PATTERNS.items() if stems.search(text))
